"""Options that are there twice, and files that would be read and written."""

from __future__ import annotations

import shutil
from pathlib import Path

from cases import cases
from commanding import ROOT, Step
from filing import filed

PROGRAM = "examples/moe_simple.py:small"


@cases(
    (["map", "x.pt2", "--luts", "3", "--luts", "4"], "--luts"),
    (["run", PROGRAM, "--backend", "approx", "--backend", "interpret"], "--backend"),
    (["sweep", PROGRAM, "--over", "memory.channels=1", "--save", "a.csv", "--save", "b.csv"], "--save"),
    (["board", PROGRAM, "-o", "a", "--output", "b"], "--output"),
    (["cache", "clean", "--older-than", "1", "--older-than", "2"], "--older-than"),
)
def test_an_option_of_one_value_is_there_once(arguments: list[str], option: str, step: Step) -> None:
    verbs = " ".join(arguments[: 2 if arguments[0] == "cache" else 1])
    assert step(*arguments).failed() == f"error: {option} is given twice\n  see step {verbs} --help\n"


def test_flags_and_lists_may_be_there_twice(step: Step) -> None:
    assert step("metrics", PROGRAM, "--json", "--json").code == 0
    assert step("check", PROGRAM, "--set", "stages=2", "--set", "link_bytes=32").code == 0


@cases(
    ["fifos", "{}", "--save", "{}"],
    ["compare", "{}:small", "--save", "{}"],
    ["run", "{}:small", "--backend", "approx", "--save", "{}"],
    ["inputs", "{}:small", "-o", "{}"],
    ["tune", "{}:small", "--over", "fabric.stages=1", "--plot", "{}"],
)
def test_a_program_is_not_written_over(arguments: list[str], step: Step, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    shutil.copy(ROOT / "examples/moe_simple.py", program)
    before = program.read_bytes()
    done = step(*(each.format(program) for each in arguments))
    option = "--output" if "-o" in arguments else arguments[-2]
    message = f"error: {program} can not be both PROGRAM and {option}: choose another file for one of them\n"
    assert done == (1, "", message) and program.read_bytes() == before


def test_the_best_program_is_json(step: Step) -> None:
    message = "error: a program must go to a file that ends in .json, not 'best.txt'\n"
    for verb in (["tune", PROGRAM, "--over", "fabric.stages=1"], ["map", "x.pt2", "--luts", "3"]):
        assert step(*verb, "--best", "best.txt") == (1, "", message)


def test_a_mapping_keeps_the_file_that_is_there(step: Step, tmp_path: Path) -> None:
    rows = filed(tmp_path / "rows.csv", "name,age\n")
    message = f"error: {rows} is there, and a mapping does not go on: choose another file, or delete it\n"
    assert step("map", "x.pt2", "--luts", "3", "--save", rows) == (1, "", message)
    assert rows.read_text() == "name,age\n"


def test_an_empty_table(step: Step, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.touch()
    message = f"error: {rows} is no table of a sweep: choose another file, or delete it\n"
    assert step("sweep", PROGRAM, "--over", "fabric.stages=1", "--save", rows, "--jobs", 1) == (1, "", message)
