"""Programs behind AXI4 masters, in a simulator with models of cocotbext-axi around them."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from cocotb_tools.runner import get_runner

from cosim.building.build import build
from cosim.building.design import load_design
from cosim.running.bench_run import memory_image, run_simulator, source_transfers
from hw.axi.wrapper import wrapped
from hw.design.emit import emit, structure_files
from hw.links.layout import input_formats
from hw.links.packing import pack_tiles, unpack_transfers
from hw.verilog.structure import Instance, Structure, Written, top_text
from step.language.faults import Fault
from step.language.graph import Graph
from step.lowering.board import BoardPlan, Image, board_of
from step.lowering.bus import PAGE, BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.running.interpreter import interpret

HERE = Path(__file__).parent
ICARUS = shutil.which("iverilog")
QUICKEST = "icarus" if ICARUS else "verilator"
"""The simulator that takes the least for some runs: Icarus builds in a second."""

CHECKER = (HERE / "checker.sv").read_text()
RULES = {name: int(number) for name, number in re.findall(r"([A-Z_]+) = (\d+)[,;]", CHECKER.partition("localparam")[2])}
ROOM = 1 << 16
"""Bytes of an image of any size."""
_TOLD = {"broken": 8, "owed": 8, "seen": 32}
"""What a checker tells, with its bits."""


@dataclass(frozen=True)
class Run:
    """``data``: which inputs. ``latency``: cycles that memory may need for a beat; ``pauses``: the share of cycles in
    which a channel rests; ``errors``: the beat of a way (read, write) that is answered with ``answer``; ``stop``: the
    cycle in which the next reset comes."""

    data: int = 0
    seed: int = 1
    latency: int = 3
    pauses: float = 0.3
    errors: dict[str, int] = field(default_factory=dict)
    answer: str = "SLVERR"
    stop: int | None = None


class Wrapped:
    """A program on a board, with a checker on every bus: built once for a simulator, and played often."""

    bench, lawful = "axi_bench", True
    streams = False
    """Whether streams are in memory (DMA)."""
    packets = 0
    """The level of a stop that ends a packet of a stream; 0: each token does."""

    def __init__(
        self,
        graph: Graph,
        fabric: FabricConfig,
        bus: BusConfig,
        directory: Path,
        *inputs: Any,
        simulator: str,
        bus_period: int | None = None,
    ) -> None:
        """``bus_period``: of the clock of the bus, in ns, where it is not that of the fabric, which has 10 ns."""
        self.bus_period = bus_period
        self.graph, self.bus, self.directory, self.simulator = graph, bus, directory, simulator
        self.inputs = inputs
        self.netlist: Netlist = lower(graph, fabric)
        self.board: BoardPlan = board_of(self.netlist, bus, streams=self.streams)
        design = directory / "design"
        self.structure = self._checked(design, self._emit(design))
        self.top = self.structure.name
        self.design = load_design(design)
        if self.streams:
            self.design = replace(self.design, sources=(), sinks=())
        self.sizes = {each.name: self._size(each) for each in self.board.images}
        self.bases = self._bases()
        self._build(sorted(design.rglob("*.sv")))

    def _emit(self, design: Path) -> Structure:
        """Write all Verilog into ``design``; returns the top module."""
        fabric = emit(self.netlist, design, probes=False, initial_values=False).structure
        board = board_of(self.netlist, self.bus)
        ways = {"own_clock": self.bus_period is not None, "packets": self.packets}
        structure = wrapped(fabric, self.netlist, board, **ways)
        for name, text in structure_files(structure, initial_values=False).items():
            (design / name).parent.mkdir(exist_ok=True)
            (design / name).write_text(text)
        return structure

    def _size(self, image: Image) -> int:
        """Bytes of memory that the model has for ``image``, also where only a run tells."""
        return ROOM if image.beats == 0 else self.board.bytes_of(image)

    def _checked(self, design: Path, inner: Structure) -> Structure:
        """Write a module around ``inner`` that has its ports, and those of the checkers."""
        top = Structure(f"{inner.name}_checked", ports=dict(inner.ports))
        connections: dict[str, str | int] = {name: name for name in ("clk", "rst", *inner.ports)}
        top.instances.append(Instance("inner", Written(inner), connections, "what is checked"))
        clock = ("clk", "rst") if self.bus_period is None else ("bus_clk", "bus_rst")
        for number in range(self.bus.masters):
            bus = f"m_axi{number}_"
            names = [each.removeprefix(bus) for each in inner.ports if each.startswith(bus)]
            ports = {
                name: ("input", inner.ports[bus + name][1]) for name in names if re.search(rf"\b{name}\b", CHECKER)
            }
            checker = Structure("axi_checker", ports=ports | {each: ("output", width) for each, width in _TOLD.items()})
            connections = {"clk": clock[0], "rst": clock[1], **{name: bus + name for name in ports}}
            connections |= {each: f"{each}{number}" for each in _TOLD}
            top.ports |= {f"{each}{number}": ("output", width) for each, width in _TOLD.items()}
            top.instances.append(Instance(f"checker{number}", Written(checker), connections, f"of bus {number}"))
        text, bus = CHECKER, self.bus
        values = (bus.address_bits, bus.bytes, bus.burst, bus.outstanding)
        for name, value in zip(("ADDRESS", "BYTES", "BURST", "OUTSTANDING"), values, strict=True):
            text = re.sub(rf"(parameter {name} =) \d+", rf"\1 {value}", text)
        (design / "axi_checker.sv").write_text(text)
        (design / f"{top.name}.sv").write_text(top_text(top))
        return top

    def _bases(self) -> dict[str, int]:
        """Addresses beyond 4 GB, at any beat, so that tiles begin anywhere in a page."""
        random, at, found = Random(1), 0x12_3400_0000, {}
        for image in self.board.images:
            at += self.board.beat_bytes * random.randrange(100)
            found[image.name] = at
            at += self.sizes[image.name]
        return found

    @property
    def _base(self) -> int:
        """Where the model's memory begins; a transfer may have bytes around those that are wanted."""
        return min(self.bases.values()) // PAGE * PAGE

    def _build(self, sources: list[Path]) -> None:
        """Verilator's is built as simulators of fabrics are, Icarus's by cocotb's runner."""
        if self.simulator == "verilator":
            design = replace(self.design, module=self.top, verilog=tuple(sources))
            self._built = build(design, edges=tuple(self.structure.ports), optimize=False)
        else:
            self._runner = get_runner(self.simulator)
            self._runner.build(
                sources=sources,
                hdl_toplevel=self.top,
                build_dir=self.directory / self.simulator,
                build_args=["-g2012"],
                log_file=self.directory / "build.log",
                timescale=("1ns", "1ps"),
            )

    def _run(self) -> None:
        if self.simulator == "verilator":
            run_simulator(self._built, self.bench, self.directory, [])
        else:
            self._runner.test(
                hdl_toplevel=self.top,
                test_module=self.bench,
                build_dir=self.directory / self.simulator,
                test_dir=self.directory,
                results_xml=str(self.directory / "results.xml"),
                extra_env={"STEP_RUN_DIRECTORY": str(self.directory)},
                log_file=self.directory / "run.log",
            )

    @cached_property
    def _plan(self) -> dict[str, Any]:
        """What is the same for all runs."""
        bound = [bind_inputs(self.graph, each) for each in self.inputs]
        base = self._base
        size = max(self.bases[name] + size for name, size in self.sizes.items()) - base + PAGE
        return {
            "masters": self.bus.masters,
            "bus_period": self.bus_period,
            "base": base,
            "bytes": size,
            "images": self.bases,
            "limits": {each.name: self.sizes[each.name] for each in self.board.images if each.limited},
            "contents": [self._contents(number, base, size).hex() for number in range(len(self.inputs))],
            "sources": self._sources(bound),
            "sinks": [each.name for each in self.design.sinks],
            "frames": [self._frames(each) for each in self.inputs],
        }

    def play(self, *runs: Any, **more: Any) -> list[dict[str, Any]]:
        """What happened in each of ``runs``, one after the other in one simulation; the plan has ``more``."""
        plan = self._plan | {"runs": [asdict(each) for each in runs], **more}
        (self.directory / "plan").write_text(json.dumps(plan))
        told = self.directory / "bench.json"
        told.unlink(missing_ok=True)  # that of an earlier play
        self._run()
        played = json.loads(told.read_text())
        for each in played if self.lawful else ():
            broken = [name for name, number in RULES.items() if number in each["rules"]]
            assert not broken, f"rules of AXI4 are broken: {broken}"
        return played

    def _contents(self, number: int, base: int, size: int) -> bytes:
        """Memory before a run with inputs ``number``."""
        image, beat = memory_image(self.netlist, bind_inputs(self.graph, self.inputs[number])), self.board.beat_bytes
        contents = bytearray(b"\xa5" * size)
        parts = {at for stream in self.board.streams for at in stream.images}
        for number, each in enumerate(self.board.images):
            if number not in parts:
                part = image[each.base * beat : (each.base + each.beats) * beat][: self.sizes[each.name]]
                at = self.bases[each.name] - base
                contents[at : at + len(part)] = part
        return bytes(contents)

    def _sources(self, bound: list[BoundInputs]) -> dict[str, list[Any]]:
        """Frames of every source: its data in bytes, and the header of the last transfer."""
        found: dict[str, list[Any]] = {}
        for port in self.design.sources:
            for each in bound:
                frames, data = [], b""
                for transfer in source_transfers(self.netlist, each)[port.name]:
                    data += (transfer >> port.user_bits + 1).to_bytes(port.data_bits // 8, "little")
                    if transfer >> port.user_bits & 1:
                        frames.append([data.hex(), transfer & ((1 << port.user_bits) - 1)])
                        data = b""
                found.setdefault(port.name, []).append(frames)
        return found

    def _frames(self, inputs: Any) -> dict[str, int]:
        outputs = interpret(self.graph, inputs).outputs
        return {port.name: len(outputs[port.name]) + 1 for port in self.design.sinks}

    def check(self, run: Any, played: dict[str, Any]) -> None:
        """A whole run has the bits of the interpreter."""
        wanted = interpret(self.graph, self.inputs[run.data]).outputs
        self._check_sinks(wanted, played)
        memory, base, beat = bytes.fromhex(played["memory"]), self._base, self.board.beat_bytes
        for node in self.netlist.units:
            access = node.operator.writes(node)
            if access is None:
                continue
            (port,) = (each for each in self.board.ports if each.writes and each.name == node.name)
            values = [each.value for each in wanted[access.tensor or node.name] if each.has_value]
            packed = pack_tiles(values, access.tile, beat)
            at = self.bases[self.board.images[port.image].name] - base
            assert values and memory[at : at + len(packed)] == packed, f"{node.name} stored something else"

    def _check_sinks(self, wanted: dict[str, Any], played: dict[str, Any]) -> None:
        for port in self.design.sinks:
            node = self.netlist.graph.nodes[port.name]
            transfers = []
            for data, (first, last), width in played["sinks"][port.name]:
                assert first == last, "a token has two headers"
                words = [data[at : at + 2 * width] for at in range(0, len(data), 2 * width)]
                for at, word in enumerate(words):
                    number = int.from_bytes(bytes.fromhex(word), "little") << 1 | (at == len(words) - 1)
                    transfers.append(number << port.user_bits | first)
            tokens = unpack_transfers(transfers, node.inputs[0].element, *input_formats(node, self.netlist))
            assert [str(each) for each in tokens if not each.done] == [str(each) for each in wanted[port.name]]

    def check_fault(self, run: Run, played: dict[str, Any], code: int, number: int, address: int) -> None:
        """Fault ``code``, port ``number`` and ``address`` are those of the beat that met the error of ``run``."""
        (failed,), port = played["failed"], self.board.ports[number]
        assert code == {"SLVERR": Fault.BUS_ERROR, "DECERR": Fault.NO_DEVICE}[run.answer]
        assert port.writes == ("write" in run.errors)
        # An answer to a write is that of a whole burst.
        assert failed - address in (range(0, self.bus.burst_bytes, self.bus.bytes) if port.writes else [0])
        image = self.board.images[port.image]
        assert 0 <= address - self.bases[image.name] < self.sizes[image.name]
