"""The bench that `step verilog --bench` writes runs on any simulator, and tells right data from wrong data."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from cores import run_target

from cosim.testbench.folder import write_bench
from hw.design.emit import design_of
from step import BF16, FabricConfig, Graph, Program, Tile, load_program
from step.lowering.bus import BusConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.prepare import prepare

needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs Icarus Verilog")


ROWS = [[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]] * each for each in (2, 0)]


def moved() -> Program:
    """A load and a store, and a ragged stream."""
    graph = Graph("moved")
    graph.load(graph.tensor("x", (8, 16), BF16), tile=(4, 16), name="load").store("y")
    graph.source("s", Tile(BF16, 2, 3), [2, graph.symbol("R", ragged=True)]).sink("t")
    data = {"x": [[float(row + column) for column in range(16)] for row in range(8)], "s": ROWS}
    return Program(graph, data, fabric=FabricConfig(link_bytes=4, memory=MemoryConfig(beat_bytes=8)))


def merged() -> Program:
    """Two streams in order of arrival."""
    graph = Graph("merged")
    streams = [graph.source(name, Tile(BF16, 2, 3), [2, graph.symbol(name, ragged=True)]) for name in "ab"]
    tiles, chosen = graph.eager_merge(streams, rank=1, name="merge")
    tiles.sink("tiles")
    chosen.sink("chosen")
    return Program(graph, {"a": ROWS, "b": ROWS[::-1]})


def written(program: Program, directory: Path, bus: BusConfig | None = None, *, initial_values: bool = True) -> str:
    """Write the fabric with its bench; returns the bench's module."""
    fabric = program.fabric or FabricConfig()
    prepared = prepare(replace(program, fabric=replace(fabric, memory=replace(fabric.memory, bus=bus))))
    design = design_of(prepared.netlist, probes=True, initial_values=initial_values)
    design.write(directory)
    write_bench(prepared, design, directory)
    return f"{design.sidecar['module']}_bench"


def simulated(directory: Path, top: str) -> tuple[int, str]:
    """Status and output of Icarus."""
    files = [str(directory / each) for each in (directory / "fabric.f").read_text().split()]
    files += [str(each) for each in sorted((directory / "bench").glob("*.sv"))]
    command = ["iverilog", "-g2012", "-o", str(directory / "bench.vvp"), "-s", top, *files]
    subprocess.run(command, check=True, capture_output=True)
    command = ["vvp", "-n", str(directory / "bench.vvp")]
    done = subprocess.run(command, cwd=directory / "bench", capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout


@needs_icarus
@pytest.mark.parametrize("bus", [None, BusConfig(masters=2, bytes=16)], ids=["ports", "masters"])
def test_right_data_passes(tmp_path: Path, bus: BusConfig | None) -> None:
    status, output = simulated(tmp_path, written(moved(), tmp_path, bus))
    assert status == 0 and output.startswith("PASSED: "), output


DIFFERS = "FAILED: 1 words differ"
WRONG = {
    "memory": ("expected.hex", "40e040c040a04080", "3",
        ["word 1 of memory is 40e040c040a04080, not 0000000000000003", DIFFERS]),
    "sink": ("sink_t.hex", "80007f002", "3",
        ["sink_t: transfer 0 is 080007f002, not 0000000003 (mask 1fffffffff)", DIFFERS]),
    "fault": ("source_s.hex", "11", "0", ["FAILED: a unit met a fault in cycle 8; four bits for each: 0600"]),
    "hang": ("fabric_moved_bench.sv", '.TRANSFERS(8), .FILE("sink_t")', '.TRANSFERS(9), .FILE("sink_t")',
        ["FAILED: nothing moves since cycle 106"]),
}  # fmt: skip


@needs_icarus
@pytest.mark.parametrize("what", WRONG)
def test_wrong_data_is_told(tmp_path: Path, what: str) -> None:
    top, (name, right, wrong, told) = written(moved(), tmp_path), WRONG[what]
    path = tmp_path / "bench" / name
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    status, output = simulated(tmp_path, top)
    lines = output.split("FATAL")[0].splitlines()
    assert status == 1 and [line for line in lines if "WARNING" not in line] == told


@needs_icarus
def test_an_order_that_depends_on_time_is_told(tmp_path: Path) -> None:
    """The first chunk of the first stream is as long as the second one of the other: by index they go another way."""
    status, output = simulated(tmp_path, written(merged(), tmp_path))
    told = "eager_merge 'merge' (tests/cosim/test_testbench.py:39) takes tokens in order of arrival"
    assert status == 1 and f"{told}: in another order, other data is right, too\n" in output


def test_the_core_simulates_only_with_a_bench(tmp_path: Path) -> None:
    written(moved(), tmp_path)
    core = (tmp_path / "fabric.core").read_text()
    assert "  sim: &sim\n" in core and "  sim_icarus:\n" in core


@needs_icarus
def test_fusesoc_runs_it(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    top = written(moved(), made).removesuffix("_bench")
    done = run_target(made, f"step:fabric:{top}:0", "sim_icarus", tmp_path)
    assert done.returncode == 0 and "PASSED: " in done.stdout, done.stdout + done.stderr


EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = "softmax.py", "norm_qkv.py", "recirculate.py", "moe_simple.py:small", "attention.py:small"


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("name", NAMES)
def test_examples(tmp_path: Path, name: str) -> None:
    status, output = simulated(tmp_path, written(load_program(f"{EXAMPLES}/{name}"), tmp_path))
    assert status == 0 and output.startswith("PASSED: "), output
