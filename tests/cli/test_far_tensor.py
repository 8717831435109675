"""A tensor behind the last address of off-chip memory is refused by whatever has a memory map."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import cases
from commanding import Step
from filing import filed

PROGRAM = """
from step import INT8, UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile

def program():
    graph = Graph("far")
    at = graph.source("at", Tile(UINT32), [1])
    at.load_random(graph.tensor("much", (1 << 32, 1), INT8), tile=(1, 1)).sink("y")
    graph.load(graph.tensor("small", (4, 1), INT8), tile=(1, 1), name="ld").sink("z")
    return Program(graph, {GIVEN}, fabric=FabricConfig(memory=MemoryConfig(beat_bytes=1)))
"""
REFUSED = (
    "error: linear_off_chip_load 'ld' (PLACEfar.py:8): tensor 'small' lies in the beats 4,294,967,296 to 4,294,967,299 "
    "of off-chip memory, of 1 bytes each, but addresses have 32 bits and end at beat 4,294,967,295; choose larger "
    "tiles, as each begins on a beat of its own, or smaller tensors\n"
)


@pytest.mark.parametrize("masters", [0, 2])
@cases("check", "verilog -o OUT", "board -o OUT", "run --backend rtl", "run --backend approx")
def test_a_command(command: str, step: Step, masters: int, tmp_path: Path) -> None:
    program = filed(tmp_path / "far.py", PROGRAM.replace("GIVEN", "" if command == "check" else '"at": [0]'))
    verb, *options = command.replace("OUT", str(tmp_path / "out")).split()
    assert step(verb, program, *options, "--set", f"memory.masters={masters}") == (
        1,
        "",
        REFUSED.replace("PLACE", f"{tmp_path}/"),
    )
    assert not (tmp_path / "out").exists()
