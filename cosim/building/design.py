"""The generated Verilog of one fabric, with its sidecar, and its pieces for the C++ compiler."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx

from step.errors import FormatError
from step.lowering.off_chip import MemoryConfig

SIDECAR = "fabric.json"

SMALL_TEXT = 4_000
"""Modules below this many bytes of flattened Verilog are inlined: a call would cost more than the code."""

MANY = 4
"""Modules used fewer times than this are inlined: a function would not save code."""

LARGE_DESIGN = 30_000_000
"""Bytes of flattened Verilog from which on separately compiled modules pay.

A mixture of experts of 18 MB takes 78 s of processor time to build flat and 62 s apart; flat it runs 1.4 times as fast:
a module that is compiled apart is called through an interface that costs as much as a small unit. Verilator's own time
grows with the flattened design, so four products on 1 024 lanes each (54 MB) stay apart.
"""

_MODULE = re.compile(r"^\s*module\s+(\\\S+|\w+)(.*?)^\s*endmodule", re.MULTILINE | re.DOTALL)
_INPUT = re.compile(r"^\s*input (?:wire )?(?:\[[^\]]*\] ?)?(\w+)", re.MULTILINE)
_INSTANCE = re.compile(r"^\s*(\\\S+|\w+)\s+(?:#\s*\(.*?\)\s*)?(?:\\\S+|\w+)\s*\(\s*$", re.MULTILINE)


@dataclass(frozen=True)
class StreamPort:
    """A source or a sink: ``port`` is the stem of its AXI4-Stream, ``data_bits`` and ``user_bits`` its widths.

    A transfer as one number is ``tuser``, above it ``tlast``, above that ``tdata``.
    """

    name: str
    port: str
    data_bits: int
    user_bits: int

    @property
    def bits(self) -> int:
        """Bits of a transfer."""
        return self.user_bits + 1 + self.data_bits

    @property
    def widths(self) -> list[tuple[str, int]]:
        """The parts of a transfer with their widths, the lowest first."""
        return [("tuser", self.user_bits), ("tlast", 1), *([("tdata", self.data_bits)] if self.data_bits else [])]

    @property
    def parts(self) -> list[str]:
        """The signals of a transfer, the highest first."""
        return [f"{self.port}_{part}" for part, _ in reversed(self.widths)]


@dataclass(frozen=True)
class PortFacts:
    """A read or write port: its tensor takes ``beats`` beats from beat ``base``, ``size_beats`` for each tile.

    ``acknowledged``: a write port that is told when a beat is visible.
    """

    name: str
    port: str
    base: int
    beats: int
    size_beats: int
    acknowledged: bool = False


@dataclass(frozen=True)
class SharedBuses:
    """Masters in front of the memory: the numbers of those that read and that write, and the byte address of images.

    A transfer has ``bytes``, an address ``address_bits``.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    images: Mapping[str, int]
    bytes: int
    address_bits: int


@dataclass(frozen=True)
class BenchDesign:
    """A fabric as the cosimulation knows it.

    ``channels``, ``units`` and ``buffers`` (the units that fill them) are names, in the order of the probe
    bits; ``memory`` is the plain `MemoryConfig` with
    ``beats_total``; when nothing moved for ``settling_cycles``, nothing ever will; ``verilog`` and ``cpp`` are
    absolute paths; ``hierarchical`` are modules that pay to be compiled apart in a large design. With ``buses``,
    ``module`` is the fabric behind its masters.
    """

    module: str
    sources: tuple[StreamPort, ...]
    sinks: tuple[StreamPort, ...]
    reads: tuple[PortFacts, ...]
    writes: tuple[PortFacts, ...]
    channels: tuple[str, ...]
    units: tuple[str, ...]
    buffers: tuple[str, ...]
    memory: Mapping[str, Any]
    settling_cycles: int
    verilog: tuple[Path, ...]
    cpp: tuple[Path, ...]
    hierarchical: tuple[str, ...]
    buses: SharedBuses | None = None

    @property
    def has_memory(self) -> bool:
        return bool(self.reads or self.writes)

    @property
    def memory_config(self) -> MemoryConfig:
        """The parameters of the off-chip memory."""
        return MemoryConfig.from_json({name: value for name, value in self.memory.items() if name != "beats_total"})


def load_design(origin: BenchDesign | Path | str | Mapping[str, Any], root: Path | None = None) -> BenchDesign:
    """The design in a directory with a sidecar, or of a sidecar whose files are relative to ``root``.

    Raises `FormatError` for a sidecar that is missing, not JSON, or without a field.
    """
    if isinstance(origin, BenchDesign):
        return origin
    if isinstance(origin, Mapping):
        return _from_sidecar(origin, root or Path.cwd(), "sidecar")
    path = Path(origin)
    path = path / SIDECAR if path.is_dir() else path
    try:
        sidecar = json.loads(path.read_text())
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; `step verilog PROGRAM -o {path.parent}` writes it") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} can not be read: {error}") from None
    return _from_sidecar(sidecar, path.parent, str(path))


def _from_sidecar(sidecar: Mapping[str, Any], root: Path, where: str) -> BenchDesign:
    try:
        parts: dict[str, Any] = {"module": sidecar["module"]}
        for kind, names in ((StreamPort, ("sources", "sinks")), (PortFacts, ("reads", "writes"))):
            parts |= {each: tuple(_port(kind, port) for port in sidecar[each]) for each in names}
        for each in ("channels", "units", "buffers"):
            parts[each] = tuple(part["name"] for part in sidecar[each])
        parts |= {each: sidecar[each] for each in ("memory", "settling_cycles")}
        for each, files in (("verilog", sidecar["files"]), ("cpp", sidecar.get("cpp", ()))):
            parts[each] = tuple((root / file).resolve() for file in files)
        if "board" in sidecar:
            board, bus = sidecar["board"], sidecar["memory"]["bus"]
            images = {each["name"]: each["base"] for each in board["images"]}
            reads, writes = tuple(board["reads"]), tuple(board["writes"])
            parts["buses"] = SharedBuses(reads, writes, images, bus["bytes"], bus["address_bits"])
        return BenchDesign(hierarchical=tuple(sidecar.get("hierarchical", ())), **parts)
    except KeyError as error:
        raise FormatError(f"{where} has no field {error.args[0]!r}") from None


def _port(kind: type[Any], plain: Mapping[str, Any]) -> Any:
    """A ``kind`` of its fields in ``plain``, of which those with a default may be missing."""
    needed = (each.name for each in fields(kind) if each.default is MISSING or each.name in plain)
    return kind(**{name: plain[name] for name in needed})


class Hierarchy:
    """The modules of a design by name: bytes of their text, inputs but clock and reset, and instances of which others.

    The Verilog must list each instance with its ports on lines of their own. ``candidates`` may be compiled apart.
    """

    def __init__(self, design: BenchDesign) -> None:
        texts = (path.read_text(errors="replace") for path in design.verilog)
        bodies = {match[1].lstrip("\\"): match[2] for text in texts for match in _MODULE.finditer(text)}
        self.module, self.candidates = design.module, [name for name in design.hierarchical if name in bodies]
        self.sizes = {design.module: 0} | {name: len(body) for name, body in bodies.items()}
        self.inputs, self.children = dict[str, list[str]](), dict[str, Counter[str]]()
        for name, body in bodies.items():
            self.inputs[name] = [port for port in _INPUT.findall(body) if port not in ("clk", "rst")]
            instances = (each.lstrip("\\") for each in _INSTANCE.findall(body))
            self.children[name] = Counter(each for each in instances if each in bodies)

    @cached_property
    def _parents_first(self) -> list[str]:
        graph = nx.DiGraph([(name, child) for name, children in self.children.items() for child in children])
        graph.add_nodes_from(self.sizes)
        return list(nx.topological_sort(graph))

    @cached_property
    def uses(self) -> Counter[str]:
        """Uses of each module in the flattened design."""
        uses = Counter({self.module: 1})
        for name in self._parents_first:
            for child, count in self.children.get(name, {}).items():
                uses[child] += uses[name] * count
        return uses

    @cached_property
    def flat_sizes(self) -> dict[str, int]:
        """Bytes of Verilog of each module when every instance in it has its own copy."""
        sizes = dict(self.sizes)
        for name in reversed(self._parents_first):
            sizes[name] += sum(sizes[child] * count for child, count in self.children.get(name, {}).items())
        return sizes

    @property
    def functions(self) -> list[str]:
        """The modules to keep as functions: of those that are used often, the smallest that are large enough."""
        large = {name for name, size in self.flat_sizes.items() if size >= SMALL_TEXT and self.uses[name] >= MANY}
        return sorted(name for name in large if not large & set(self.children[name]))

    @property
    def worthwhile(self) -> bool:
        """Whether separately compiled modules pay."""
        return bool(self.candidates) and self.flat_sizes[self.module] >= LARGE_DESIGN

    def control_file(self, hierarchical: bool, public: Sequence[str]) -> str:
        """Verilator's control file: what to compile apart, what not to inline, which ports Python may reach.

        Instances of a module have one function in common only where their texts are the same. So inputs of functions
        are public: else Verilator puts the signals of the parent in their place, and every instance is code of its own.
        """
        lines = ["`verilator_config"]
        apart = self.candidates if hierarchical else ()
        lines += [f'hier_block -module "{name}"' for name in sorted(apart)]
        for name in self.functions:
            if name not in apart:
                lines.append(f'no_inline -module "{name}"')
                lines += [f'public_flat_rd -module "{name}" -var "{port}"' for port in self.inputs[name]]
        lines += [f'public_flat_rw -module "{self.module}" -var "{port}"' for port in public]
        return "\n".join(lines) + "\n"
