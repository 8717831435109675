"""The Verilog of a program as its fabric says: alone, or behind the masters of its memory."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from hw.axi.wrapper import wrapped
from hw.design.emit import SIDECAR, WAIVERS, EmittedDesign, emit, structure_files
from hw.verilog.file_lists import list_files
from step.host.installing import installing
from step.host.progress import Progress, silent
from step.lowering.board import BoardPlan, board_of
from step.lowering.netlist import Netlist


def design_of(
    netlist: Netlist,
    directory: Path | str | None = None,
    *,
    probes: bool,
    initial_values: bool = True,
    progress: Progress = silent,
) -> EmittedDesign:
    """`emit`, and where ``fabric.memory.bus`` says that ports share buses, the wrapper with the masters around it.

    Raises `FabricError` as `emit` and `board_of` do.
    """
    bus = netlist.fabric.memory.bus
    if bus is None:
        return emit(netlist, directory, probes=probes, initial_values=initial_values, progress=progress)
    fabric = emit(netlist, probes=probes, initial_values=initial_values, progress=progress)
    structure = wrapped(fabric.structure, netlist, bus, limits=False)
    wrapper, module = structure_files(structure, initial_values=initial_values), structure.name
    files = fabric.files | wrapper
    sources = [name for name in files if name.endswith(".sv")]
    files |= list_files(module, sources, [WAIVERS.name])
    board = _plan(board_of(netlist, bus))
    sidecar = {**fabric.sidecar, "module": module, "board": board, "files": sources, "hash": _digest(fabric, wrapper)}
    design = EmittedDesign(files, sidecar, structure)
    if directory is not None:
        with installing(Path(directory), last=SIDECAR) as staged:
            design.write(staged)
    return design


def _plan(board: BoardPlan) -> dict[str, Any]:
    """Facts that a bench has to know: masters that read and that write, the image of each port, and bases in memory."""
    every = range(board.bus.masters)
    return {
        "reads": [number for number in every if board.of(number, writes=False)],
        "writes": [number for number in every if board.of(number, writes=True)],
        "ports": [{"name": each.name, "master": each.master, "writes": each.writes} for each in board.ports],
        "images": [{"name": each.name, "base": each.base * board.beat_bytes} for each in board.images],
    }


def _digest(fabric: EmittedDesign, wrapper: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps([fabric.hash, sorted(wrapper.items())]).encode()).hexdigest()
