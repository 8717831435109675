"""``step board --target litex --text --run``: what the firmware writes, whole runs of language models (-m soc)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from commanding import Step, in_a_process
from filing import filed

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from cosim.board import litex
from step.errors import BuildError, SimulationError

COUNTED = """
from step import FP32, UINT32, Graph, Program, Tile

def program():
    graph = Graph("counted")
    graph.source("x", Tile(UINT32, 1, 1), [6]).sink("y")
    graph.source("z", Tile(FP32, 1, 1), [1]).sink("w")
    return Program(graph, {"x": [[[each]] for each in (2, 1, 3, 9, 0, 1)], "z": [[[1.0]]]})
"""


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    return filed(tmp_path / "counted.py", COUNTED)


@cases(
    (["--text", "y=FILE"], "--text is for firmware: it needs --target litex"),
    (["--run"], "--run is for firmware: it needs --target litex"),
    (["--target", "litex", "--text", "y"], "a text must be SINK=FILE, not 'y'"),
    (["--target", "litex", "--text", "y=FILE", "--text", "y=FILE"], "the text of y is given twice"),
    (["--target", "litex", "--text", "q=FILE"], "--text needs a sink of Tile(UINT32, 1, 1), and 'q' is none"),
    (["--target", "litex", "--text", "x=FILE"], "--text needs a sink of Tile(UINT32, 1, 1), and 'x' is none"),
    (["--target", "litex", "--text", "w=FILE"], "--text needs a sink of Tile(UINT32, 1, 1), and 'w' is none"),
)
def test_arguments(
    arguments: list[str], said: str, step: Step, counted: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("cosim.board.folder.board_design", None)  # before anything is built
    symbols = filed(tmp_path / "symbols.txt", ".ab")
    given = [each.replace("FILE", str(symbols)) for each in arguments]
    result = step("board", f"{counted}:program", "-o", tmp_path / "board", *given)
    assert (result.code, result.err) == (1, f"error: {said}\n")
    assert not (tmp_path / "board").exists()


def test_symbols_are_in_the_firmware(step: Step, counted: Path, tmp_path: Path) -> None:
    symbols = filed(tmp_path / "symbols.txt", '.a\\n"é')
    made = step("board", f"{counted}:program", "-o", tmp_path / "board", "--target", "litex", "--bytes", 32,
                "--text", f"y={symbols}")  # fmt: skip
    assert made.code == 0, made.err
    text = (tmp_path / "board" / "soc" / "batches.c").read_text()
    assert r'{"\056", "\141", "\012", "\042", "\303\251"};' in text
    assert "{1u, symbols1, 5u},\n    {0, NULL, 0},\n" in text


def system(directory: Path, rules: str) -> Path:
    """A folder whose system has these rules of make."""
    (directory / "soc").mkdir()
    filed(directory / "soc" / "Makefile", rules)
    return directory


def test_what_the_firmware_says_is_shown(tmp_path: Path) -> None:
    made = system(tmp_path, "build:\nrun: build\n\t@echo one: the board answers\n\t@echo all right in 3 cycles\n")
    assert litex.run_system(made) == "one: the board answers\nall right in 3 cycles\n"


@cases(
    ("build:\n\t@echo no compiler >&2; exit 1\n", BuildError, "no compiler"),
    ("build:\nrun:\n\t@echo not right in 3 cycles; exit 1\n", SimulationError, "not right in 3 cycles"),
)
def test_a_system_that_fails_is_an_error(rules: str, kind: type[Exception], said: str, tmp_path: Path) -> None:
    with pytest.raises(kind) as caught:
        litex.run_system(system(tmp_path, rules))
    first, *_ = str(caught.value).splitlines()
    assert first == f"the system in '{tmp_path}/soc' failed: {said}"


WRITING = """
from step_torch.text import TextModel

def program(prompt="every tile", tokens=14):
    return TextModel.load("examples/tiny_lm").program(prompt, tokens)
"""
SMALL = ["fabric.link_bytes=8", "fabric.matmul_lanes=4", "fabric.vector_lanes=4", "memory.beat_bytes=8"]


@pytest.mark.soc
def test_a_language_model_writes_on_the_system(tmp_path: Path) -> None:
    """As `interpret` does, in one command from the program to the log of the firmware."""
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("needs a compiler: apt install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")
    pytest.importorskip("litedram", reason="needs LiteX: pip install 'step-fabric[litex]'")
    program = filed(tmp_path / "writing.py", WRITING)
    options = ["--target", "litex", "--bytes", "8", "--text", "tokens=examples/tiny_lm/symbols.txt", "--run"]
    options += [each for setting in SMALL for each in ("--set", setting)]
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    told = in_a_process("board", f"{program}:program", "-o", tmp_path / "board", *options, PYTHONPATH=path)
    assert told.code == 0, told.err
    assert 'tokens " has its turn,", right\n' in told.out
