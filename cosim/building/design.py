"""The generated Verilog of one fabric, with its sidecar."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from step.errors import FormatError
from step.lowering.off_chip import MemoryConfig

SIDECAR = "fabric.json"


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
        return BenchDesign(
            module=sidecar["module"],
            sources=tuple(_stream(port) for port in sidecar["sources"]),
            sinks=tuple(_stream(port) for port in sidecar["sinks"]),
            reads=tuple(_memory(port) for port in sidecar["reads"]),
            writes=tuple(_memory(port) for port in sidecar["writes"]),
            channels=tuple(channel["name"] for channel in sidecar["channels"]),
            units=tuple(unit["name"] for unit in sidecar["units"]),
            buffers=tuple(buffer["name"] for buffer in sidecar["buffers"]),
            memory=dict(sidecar["memory"]),
            settling_cycles=sidecar["settling_cycles"],
            verilog=tuple((root / file).resolve() for file in sidecar["files"]),
            cpp=tuple((root / file).resolve() for file in sidecar.get("cpp", ())),
            hierarchical=tuple(sidecar.get("hierarchical", ())),
            buses=_buses(sidecar["board"], sidecar["memory"]["bus"]) if "board" in sidecar else None,
        )
    except KeyError as error:
        raise FormatError(f"{where} has no field {error.args[0]!r}") from None


def _buses(board: Mapping[str, Any], bus: Mapping[str, int]) -> SharedBuses:
    images = {each["name"]: each["base"] for each in board["images"]}
    return SharedBuses(tuple(board["reads"]), tuple(board["writes"]), images, bus["bytes"], bus["address_bits"])


def _stream(port: Mapping[str, Any]) -> StreamPort:
    return StreamPort(port["name"], port["port"], port["data_bits"], port["user_bits"])


def _memory(port: Mapping[str, Any]) -> PortFacts:
    return PortFacts(
        port["name"], port["port"], port["base"], port["beats"], port["size_beats"], port.get("acknowledged", False)
    )
