"""``step fifos``, and its depths in ``run``, ``compare`` and ``verilog``: tables, files and exact complaints."""

from __future__ import annotations

import json
import re
import sys
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from commanding import PROGRAMS, Step
from filing import filed
from progress_lines import interrupting

from step_explore.fifos.sizing import size_fifos

DOCUMENT = Path(__file__).parents[2] / "docs" / "fifos.md"


@pytest.fixture
def scaled(tmp_path: Path) -> Path:
    """The program of the documentation."""
    lines = re.findall(r"^(?:>>>|\.\.\.) (.*)$", DOCUMENT.read_text().partition("```console")[0], re.MULTILINE)
    return filed(tmp_path / "scaled.py", "\n".join(lines))


def test_the_table_of_the_documentation(step: Step, scaled: Path, tmp_path: Path, monkeypatch: Any) -> None:
    session = DOCUMENT.read_text().partition("$ step fifos scaled.py --save depths.json\n")[2]
    table, _, rest = session.partition("$ step run scaled.py --backend approx --binding depths.json\n")
    monkeypatch.chdir(tmp_path)
    assert table and step("fifos", scaled.name, "--save", "depths.json") == (0, table, "")
    ran = step("run", scaled.name, "--backend", "approx", "--binding", "depths.json")
    assert ran.code == 0 and ran.out.splitlines()[0] == rest.splitlines()[0] and ran.err == ""


def test_what_is_saved(step: Step, scaled: Path, tmp_path: Path) -> None:
    found = json.loads(step("fifos", scaled, "--json").out)
    assert [each["bits"] for each in found["front"]] == [872, 868, 832, 828, 792]
    assert (found["asked"]["cycles"], found["lossless"]["cycles"], found["data"]) == (None, [93], [None])
    path = tmp_path / "depths.json"
    for options, cycles in (
        ((), 93),
        (("--loss", 2.5), 95),
        (("--loss", 50), 100),
        (("--least",), 100),
        (("--keep",), 93),
    ):
        step("fifos", scaled, "--save", path, *options).ok()
        assert json.loads(path.read_text())["data"][0]["cycles"] == cycles
        run = json.loads(step("run", scaled, "--backend", "approx", "--binding", path, "--json").out)
        assert run["cycles"] == cycles


def test_a_bound(step: Step, scaled: Path) -> None:
    pytest.importorskip("scipy")
    (line,) = re.findall(r"^bound: .*$", DOCUMENT.read_text(), re.MULTILINE)
    assert step("fifos", scaled, "--bound").out.splitlines()[-2] == line
    assert json.loads(step("fifos", scaled, "--bound", "--json").out)["bound"] == {"bits": 792, "weak": None}
    weak = step("fifos", "examples/moe_simple.py", "--bound").out.splitlines()[-2]
    assert re.fullmatch(
        r"bound: 44,300 bits, 0.09% below the least that was found; reassemble 'gather' \(examples/moe_simple.py:\d+\) "
        "takes tokens in order of arrival, so more room may make the program deadlock",
        weak,
    )


def test_a_bound_without_scipy(step: Step, scaled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    wanted = "error: a bound needs the module scipy; install it with: pip install 'step-fabric[fifos]'\n"
    assert step("fifos", scaled, "--bound") == (3, "", wanted)


def test_several_data_sets(step: Step, scaled: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for seed, file in enumerate(files):
        assert step("inputs", scaled, "-o", file, "--random", seed).code == 0
    path = tmp_path / "depths.json"
    result = step("fifos", scaled, *(each for file in files for each in ("--inputs", file)), "--save", path)
    assert result.code == 0 and result.out.splitlines()[1].split() == [
        "bits", "cycles", "a.npz", "cycles", "b.npz", "loss",
    ]  # fmt: skip
    assert "\nthis holds for all data: all sizes are static, and no value decides what a unit does\n" in result.out
    assert [each["name"] for each in json.loads(path.read_text())["data"]] == list(map(str, files))
    assert step("run", scaled, "--backend", "approx", "--binding", path).err == ""


def test_data_that_it_holds_for(step: Step, tmp_path: Path) -> None:
    path, depths, data = PROGRAMS / "routed.py", tmp_path / "depths.json", tmp_path / "data.npz"
    assert step("inputs", path, "-o", data, "--random", 1).code == 0
    found = step("fifos", path, "--inputs", data, "--save", depths)
    assert (found.code, found.err) == (0, "") and f"\nthis holds for {data}\n" in found.out
    own = step("run", path, "--backend", "approx", "--binding", depths)
    assert own.err == f"warning: {depths}: the depths were found for other data: they may lose cycles, or deadlock\n"
    assert step("run", path, "--backend", "approx", "--binding", depths, "--inputs", data).err == ""


def test_arguments_and_settings_are_those_of_other_verbs(step: Step) -> None:
    path = PROGRAMS / "routed.py"
    found = json.loads(step("fifos", path, "--arg", "rows=5", "--set", "fabric.channel_depth=4", "--json").out)
    assert set(found["asked"]["depths"].values()) == {4}


def test_interrupted(step: Step, scaled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best so far is shown and saved, and a search goes on from it."""
    path, told = tmp_path / "depths.json", {"progress": interrupting("10 choices")}
    with monkeypatch.context() as patch:
        stopped = wraps(size_fifos)(lambda **options: size_fifos(**options | told))
        patch.setattr("step_cli.verbs.fifos.size_fifos", stopped)
        result = step("fifos", scaled, "--save", path)
        assert (result.code, result.err) == (130, f"the best so far; to go on: --binding {path}\n\ninterrupted\n")
        assert "from 10 choices of depths" in result.out and f"written: {path}\n" in result.out
        kept = "the best so far; with --save FILE it is kept, and --binding FILE goes on from there\n\ninterrupted\n"
        assert step("fifos", scaled).err == kept
        assert json.loads(step("fifos", scaled, "--json").out)["interrupted"] is True
    best = json.loads(path.read_text())
    assert best["data"][0]["cycles"] == 93
    assert json.loads(step("fifos", scaled, "--binding", path, "--json").out)["lossless"]["bits"] == 872


@cases(
    (["--loss", 5], "--loss has no effect without --save"),
    (["--least"], "--least has no effect without --save"),
    (["--keep"], "--keep has no effect without --save"),
    (["--loss", 5, "--keep", "--save", "d.json"], "--loss has no effect with --keep"),
    (["--loss", 5, "--least", "--save", "d.json"], "--loss has no effect with --least"),
    (["--save", "/proc/d.json"], "/proc/d.json can not be written: No such file or directory"),
)
def test_bad_usage(arguments: list[object], message: str, step: Step, scaled: Path) -> None:
    assert step("fifos", scaled, *arguments) == (1, "", f"error: {message}\n")


def test_bindings_that_do_not_fit(step: Step, scaled: Path, tmp_path: Path) -> None:
    path = tmp_path / "depths.json"
    assert step("fifos", scaled, "--save", path).code == 0
    other = (
        f"error: {path}: the depths are those of another program called scaled, or of softmax before it was changed: "
        "`step fifos` finds new ones\n"
    )
    for verb, *options in (["run", "--backend", "approx"], ["verilog", "-o", tmp_path / "build"], ["compare"]):
        assert step(verb, "examples/softmax.py", "--binding", path, *options) == (1, "", other)
    assert step("run", scaled, "--backend", "interpret", "--binding", path) == (
        1, "", "error: --binding has no effect with --backend interpret; it needs approx or rtl\n"
    )  # fmt: skip
    several = step("compare", scaled, scaled, "--binding", path)
    assert several == (1, "", "error: --binding needs one program, but there are 2\n")
    path.write_text("{}")
    broken = (1, "", f"error: {path}: $: 'format' is a required property\n")
    assert step("fifos", scaled, "--binding", path) == broken
    assert step("run", scaled, "--backend", "approx", "--binding", path) == broken


def test_verilog_has_the_depths(step: Step, scaled: Path, tmp_path: Path) -> None:
    path, build = tmp_path / "depths.json", tmp_path / "build"
    assert step("fifos", scaled, "--save", path).code == 0
    assert step("verilog", scaled, "--binding", path, "-o", build).code == 0
    channels = json.loads((build / "fabric.json").read_text())["channels"]
    assert {each["name"]: each["depth"] for each in channels} == json.loads(path.read_text())["depths"]
    assert {each["depth"] for each in channels} == {2, 11}


@pytest.mark.slow
def test_sized_fifos_in_rtl(step: Step, scaled: Path, tmp_path: Path) -> None:
    """No cycle is lost, and nothing deadlocks, in the hardware."""
    path = tmp_path / "depths.json"
    for options in ((), ("--least",)):
        assert step("fifos", scaled, "--save", path, *options).code == 0
        result = step("compare", scaled, "--binding", path, "--json")
        (found,) = json.loads(result.out)
        assert result.code == 0 and found["passed"] and found["mismatches"] == 0
        assert found["exact_cycles"] == json.loads(path.read_text())["data"][0]["cycles"]
