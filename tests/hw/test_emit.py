"""Emitted Verilog: always the same bytes, clean, and refused where the fabric can not hold the program."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out
from farm import farm
from kept_tools import cold_cache
from raising import raising
from scenarios import FABRIC, SCENARIOS, Scenario

from cosim.building.build import bench_text
from cosim.building.design import load_design
from cosim.building.toolchain import find_toolchain
from hw.design.emit import SIDECAR, EmittedDesign, emit
from hw.fabric import elaborate
from hw.verilog.convert import ModuleLibrary
from hw.verilog.modules import Parametric
from step.errors import FabricError
from step.functions.matmul import Matmul
from step.host.installing import MANIFEST
from step.language.dtypes import BF16, FP32, UINT32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.lowering.off_chip import MemoryConfig
from step.programs.files.json_file import validate


@pytest.fixture
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that nothing else has written to."""
    cache = cold_cache(tmp_path_factory.mktemp("own") / "cache")
    monkeypatch.setenv("STEP_CACHE", str(cache))
    return cache


def sample(fabric: FabricConfig = FABRIC) -> Netlist:
    """Loads, a matrix product, routing, a store and an output that nobody reads."""
    graph = Graph("sample")
    count = graph.symbol("N")
    left = graph.load(graph.tensor("a", [8, 4], BF16), tile=(4, 4), reference=graph.source("ref", Tile(FP32), [count]))
    right = graph.load(
        graph.tensor("b", [8, 4], BF16), tile=(4, 4), reference=graph.source("again", Tile(FP32), [count])
    )
    product = left.map(Matmul(), right)
    flat = product.flatten(0, 2)
    odd, even, _ = flat.partition(graph.selectors("which", 3, flat.shape), targets=3)
    odd.store("odd")
    even.reshape(2)[0].sink("even")
    return lower(graph, fabric)


def written(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def test_equal_programs_give_equal_bytes(tmp_path: Path, own_cache: Path) -> None:
    cold = emit(sample(), tmp_path / "cold", probes=True)
    warm = emit(sample(), tmp_path / "warm", probes=True)
    assert written(tmp_path / "cold") == written(tmp_path / "warm")
    assert cold.hash == warm.hash
    assert emit(sample(replace(FABRIC, channel_depth=3)), probes=True).hash != cold.hash


def test_a_module_is_the_same_in_whatever_company_it_is_converted(own_cache: Path, monkeypatch: Any) -> None:
    whole = emit(sample(), probes=True).files
    monkeypatch.setenv("STEP_CACHE", str(cold_cache(own_cache / "another")))
    graph = Graph("alone")
    graph.selectors("which", 3, [graph.symbol("N")]).sink("y")
    alone = emit(lower(graph, FABRIC), probes=True).files
    shared = {name for name in set(alone) & set(whole) if name.endswith(".sv")}
    assert {"channels", "units"} <= {name.partition("/")[0] for name in shared}
    assert {name: alone[name] for name in shared} == {name: whole[name] for name in shared}


def test_a_module_is_the_same_in_whatever_order_it_is_converted(tmp_path: Path) -> None:
    """Eager merges have wires that Yosys makes, and numbers in all that it reads."""
    graph = Graph("merged")
    (scenario,) = (each for each in SCENARIOS if each.name == "eager_merge-uneven")
    scenario.build(graph)
    components = [each.component for each in elaborate(lower(graph, FABRIC), probes=True).structure.instances]
    libraries = [ModuleLibrary(cold_cache(tmp_path / name)) for name in ("forwards", "backwards", "alone")]
    for library, chosen in zip(libraries, (components, components[::-1], components[-1:]), strict=True):
        for component in chosen:
            library.require(component)
    forwards, backwards, alone = (library.texts() for library in libraries)
    assert forwards == backwards
    assert alone == {name: forwards[name] for name in alone}


def test_equal_units_share_a_module(graph: Graph) -> None:
    for side in "ab":
        tensor = graph.tensor(side, [16, 4], BF16)
        graph.load(tensor, tile=(4, 4), out=(2,), offset=2 if side == "b" else 0).promote(name=f"p{side}").sink(
            f"y{side}"
        )
    design = emit(lower(graph, FABRIC), probes=False)
    modules = {unit["name"]: unit["module"] for unit in design.sidecar["units"]}
    assert modules["linear_off_chip_load_0"] == modules["linear_off_chip_load_1"]
    assert modules["pa"] == modules["pb"]
    assert len([name for name in design.files if name.startswith("units/promote_")]) == 1


def test_a_constant_of_many_bits() -> None:
    """Its table is a number of more digits than Python writes by itself."""
    graph, rows = Graph("table"), [[(row * 64 + col) * 2654435761 % 2**32 for col in range(64)] for row in range(16)]
    graph.constant(rows, dtype=UINT32, reference=graph.source("x", Tile(UINT32), [2]), name="many").sink("y")
    files = emit(lower(graph, FABRIC), probes=False).files
    (text,) = (each for name, each in files.items() if "units/generate" in name)
    assert f"{rows[15][63]:08x}{rows[15][62]:08x}" in text


def test_the_sidecar_describes_the_design(tmp_path: Path) -> None:
    emit(sample(), tmp_path / "design", probes=True)
    sidecar: dict[str, Any] = json.loads((tmp_path / "design" / SIDECAR).read_text())
    validate(sidecar, "sidecar", SIDECAR)
    assert sidecar["module"] == "fabric_sample"
    assert [each["name"] for each in sidecar["sources"]] == ["ref", "again", "which"]
    assert [(each["name"], each["base"], each["beats"], each["size_beats"]) for each in sidecar["reads"]] == [
        ("linear_off_chip_load_0", 0, 16, 8),
        ("linear_off_chip_load_1", 64, 16, 8),
    ]
    tiles = {"tensor": "a", "shape": [8, 4], "dtype": "BF16", "tile": [4, 4], "grid": [2, 1], "strides": [8, 8]}
    assert tiles.items() <= sidecar["reads"][0].items()
    assert [(each["name"], each["grid"], each["strides"]) for each in sidecar["writes"]] == [("odd", None, [16])]
    ref, _, which = sidecar["sources"]
    assert (ref["data_bits"], ref["user_bits"], ref["words"]) == (0, 4, 1)  # nobody reads what the reference carries
    assert (which["data_bits"], which["user_bits"], which["words"]) == (8, 4, 1)
    channel = next(each for each in sidecar["channels"] if each["producer"][0] == "map_0")
    assert channel["depth"] == 2 and channel["capacity"] > 2 and channel["element"] == "Tile(FP32, 4, 4)"
    assert sidecar["units"][0]["source"].rpartition(":")[0].endswith("test_emit.py")
    named = {*sidecar["files"], *sidecar["waivers"], *sidecar["lists"], SIDECAR, MANIFEST}
    assert named == {*written(tmp_path / "design")}
    top = (tmp_path / "design" / "fabric_sample.sv").read_text()
    assert all(unit["instance"] in top and unit["source"] in top for unit in sidecar["units"])


def test_streams_are_axi_stream() -> None:
    """Five signals of a stem, and attributes that tie them to the clock: so Vivado finds the interfaces."""
    top = emit(sample(), probes=False).files["fabric_sample.sv"]
    head = top[: top.index(");")]
    for port in ("input wire [7:0] which_tdata", "input wire [3:0] which_tuser", "output wire which_tready"):
        assert f"  {port}" in head
    assert "output wire [63:0] even_tdata" in head and "output wire even_tlast" in head
    assert "again_tdata" not in head and "again_tuser" in head  # nobody reads what this reference carries
    assert (
        'X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF ref:again:which:even, ASSOCIATED_RESET rst" *)\n  input wire clk'
        in head
    )
    assert '"POLARITY ACTIVE_HIGH" *)\n  input wire rst' in head


def test_writing_again_replaces_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    emit(sample(), tmp_path, probes=False)
    first = written(tmp_path)
    emit(sample(), tmp_path, probes=False)
    assert written(tmp_path) == first and "mine" in first


def lint(design: EmittedDesign, directory: Path) -> str:
    """What Verilator has to say."""
    tools = find_toolchain()
    files = [*design.sidecar["waivers"], *design.sidecar["files"]]
    command = [str(tools.verilator.path), "--lint-only", "-Wall", "--top-module", design.sidecar["module"], *files]
    done = subprocess.run(command, cwd=directory, env=tools.environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else done.stderr


def one_of_each() -> list[Scenario]:
    """One scenario per operator, and those that lint has found something in."""
    found = ("flat_map-one-piece", "partition-unread", "expand-static-1", "streamify-together-3")
    first = {each.operator: each.name for each in reversed(SCENARIOS)}
    return [each for each in SCENARIOS if each.name in (first[each.operator], *found)]


def check_lint(graph: Graph, probes: bool, directory: Path) -> None:
    design = emit(lower(graph, FABRIC), directory, probes=probes)
    assert lint(design, directory) == ""


@pytest.mark.parametrize("probes", [pytest.param(False, marks=pytest.mark.slow), True])
def test_lint_is_clean(probes: bool, tmp_path: Path) -> None:
    """Of all modules, in one design."""
    check_lint(farm("lint", one_of_each()).graph, probes, tmp_path / "design")


@pytest.mark.slow
@pytest.mark.parametrize("probes", [False, True])
@pytest.mark.parametrize("scenario", one_of_each(), ids=str)
def test_lint_is_clean_alone(scenario: Scenario, probes: bool, tmp_path: Path) -> None:
    check_lint(scenario.alone().graph, probes, tmp_path / "design")


def _dynamic_tile(graph: Graph) -> None:
    graph.source("x", Tile(BF16, 4, graph.symbol("cols")), [4]).sink("y")


def _high_rank(graph: Graph) -> None:
    graph.source("x", Tile(BF16), [2] * 17).sink("y")


REFUSED: list[tuple[Callable[[Graph], None], str]] = [
    (_dynamic_tile,
     "output 0 carries Tile(BF16, 4, cols), a tile with a dynamic number of columns, and those of a fabric are "
     "fixed; join rows in their stead, or lower the program to tiles of static size"),
    (_high_rank, "output 0 has rank 16; the fabric's streams go up to 15"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "text"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_what_the_fabric_can_not_hold_is_refused(build: Callable[[Graph], None], text: str) -> None:
    graph = Graph("refused")
    build(graph)
    with pytest.raises(FabricError) as caught:
        emit(lower(graph, FABRIC), probes=True)
    (node,) = (node for node in graph if str(caught.value).startswith(node.describe()))
    assert str(caught.value) == f"{node.describe()}: {text}"


def test_models_are_not_for_synthesis() -> None:
    model = replace(FABRIC, arithmetic="model")
    with raising(FabricError, 'arithmetic="model" can only be simulated; Verilog for synthesis needs arithmetic="rtl"'):
        emit(sample(model), probes=False)
    design = emit(sample(model), probes=True)
    assert design.sidecar["cpp"] and all(name in design.files for name in design.sidecar["cpp"])


def test_synthesis_gets_no_simulation_only_construct() -> None:
    design = emit(sample(), probes=False)
    text = "\n".join(design.files.values())
    assert "probe_" not in text and "$display" not in text and "DPI-C" not in text and not design.sidecar["cpp"]


class Wide(Parametric):
    """More input bits than Amaranth has numbers for."""

    parameters: ClassVar[dict[str, Any]] = {"operand_bits": 40_000}

    def __init__(self) -> None:
        super().__init__({"a": In(40_000), "b": In(40_000), "y": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.y.eq(self.a[-1] ^ self.b[-1])
        return m


def test_wide_modules_are_possible(tmp_path: Path) -> None:
    library = ModuleLibrary(tmp_path)
    name = library.require(Wide())
    assert re.search(r"assign y = a\w*\[39999\] \^ b\w*\[39999\];", library.texts()[name].text)


@pytest.mark.slow
def test_gathering_many_wide_streams_is_possible(graph: Graph) -> None:
    streams = [graph.source(f"x{port}", Tile(FP32, 16, 16), [graph.symbol(f"D{port}")]) for port in range(9)]
    graph.reassemble(streams, graph.selectors("which", 9, [graph.symbol("N")])).sink("y")
    design = emit(lower(graph, FabricConfig(link_bytes=1024)), probes=False)
    assert sum(port["data_bits"] for port in design.sidecar["sources"]) > 1 << 16


def test_an_empty_program_has_a_top(tmp_path: Path) -> None:
    design = emit(lower(Graph("empty"), FABRIC), tmp_path / "design", probes=True)
    assert lint(design, tmp_path / "design") == ""
    assert not any(design.sidecar[kind] for kind in ("sources", "sinks", "reads", "writes", "channels", "units"))


def test_the_same_hardware_stands_before_every_memory(tmp_path: Path) -> None:
    """Only comments and the sidecar know its parameters: a simulator that was built serves all of them."""

    def text(fabric: FabricConfig, name: str) -> list[str]:
        design = emit(sample(fabric), tmp_path / name, probes=True)
        files = [(tmp_path / name / file).read_text() for file in design.files]
        return [re.sub("//.*", "", each) for each in [*files, bench_text(load_design(tmp_path / name))]]

    plain = text(FabricConfig(), "plain")
    for number, memory in enumerate(
        [
            MemoryConfig(channels=32, interval=7, latency=99),
            MemoryConfig.preset("hbm2"),
            MemoryConfig.preset("ddr4", channels=4),
        ]
    ):
        assert text(FabricConfig(memory=memory), f"other{number}") == plain


def test_a_port_that_is_too_wide_is_refused() -> None:
    graph = Graph("wide")
    graph.source("x", Tile(FP32, 1, 8192), [2]).sink("y")
    with raising(
        FabricError,
        "sink_262144_rank0_link131072 has a port of 131,072 bits (input0__word), more than 65,536: use narrower links",
    ):
        emit(lower(graph, FabricConfig(link_bytes=16384)), probes=False)
