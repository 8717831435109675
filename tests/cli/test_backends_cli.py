"""The verbs that run, compare and generate: exit codes, exact complaints, and what goes to which stream and file."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from cases import cases
from commanding import PROGRAMS, ROOT, Result, Step, commanding, in_a_process
from filing import filed
from kept_tools import cold_cache
from progress_lines import without_progress
from reading_waves import VCDVCD

from cosim.building.toolchain import HINTS, find_toolchain
from cosim.comparing import compare as comparing
from cosim.comparing.buffers import BufferComparison
from cosim.comparing.traffic import TrafficComparison
from sim_approx import backend as approx
from step.programs.files.json_file import validate
from step.programs.program import load_program
from step.running.result import RunResult, Status, TrafficResult

SIMPLE = "examples/moe_simple.py"
MIXTRAL = "examples/moe_mixtral.py"

VARIANTS = f"""
import sys

sys.path.insert(0, {str(ROOT / "tests" / "integration")!r})
import fragile
import numpy as np
from step import BF16, Graph, Program, Tile

def variant(data):
    made = fragile.program()
    return Program(made.graph, data, made.fabric)

def good():
    return variant(fragile.GOOD)

def expecting(rows=(3, 6, 9)):
    made = fragile.program()
    return Program(made.graph, fragile.GOOD, made.fabric, {{"scaled_rows": np.array(rows, float)}})

def disappointed():
    return expecting((3, 6, 10))

def ragged():
    return variant(fragile.RAGGED)

def stuck():
    return variant(fragile.LONG_ROW)

def bare():
    return variant({{}})

def columns():
    graph = Graph("columns")
    graph.source("x", Tile(BF16, 1, graph.symbol("cols")), [2]).sink("y")
    return Program(graph, {{"x": np.zeros((2, 1, 3))}})

def several():
    return [good(), good()]

def mixed():
    return [good(), stuck()]
"""

FAULT = """\
error: map 'product' (fragile.py:26): its inputs do not have the same shape
  token 0 of left is a value
  token 0 of right is a value with S1
"""

DEADLOCK_HEAD = """\
error: deadlock: from cycle 16 on nothing can move, and 7 of 11 operators are not finished
the smallest depths that clear it:
  rows_broadcast.1: 9 instead of 2 (input 1 of expand 'spread' (fragile.py:29): rows.buffered(9), from fragile.py:28)
  rows_broadcast.2: 9 instead of 2 (input 0 of map 'scaled' (fragile.py:30): rows.buffered(9), from fragile.py:28)
who waits for what:
"""


COLUMNS = (
    "error: source 'x' ({}:34): output 0 carries Tile(BF16, 1, cols), a tile with a dynamic number of columns, and "
    "those of a fabric are fixed; join rows in their stead, or lower the program to tiles of static size\n"
)


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Step:
    """Runs the command line in this process; errors name `fragile.py` without path, and examples without lines."""
    plain = commanding(monkeypatch, capsys)

    def run(*arguments: object) -> Result:
        result = plain(*arguments)
        err = re.sub(r"(moe\.py):\d+", r"\1", re.sub(r"[^ (]*fragile\.py", "fragile.py", result.err))
        return result._replace(err=err)

    return run


def cycles_of_simple() -> int:
    """How long the simple example takes, by the fast model."""
    program = load_program(SIMPLE)
    return approx.run(program.graph, program.inputs, program.fabric).cycles


@pytest.fixture
def fragile(tmp_path: Path) -> str:
    """A program file with variants of the fragile program; give one as ``f"{fragile}:good"``."""
    return str(filed(tmp_path / "variants.py", VARIANTS))


TIMED_BY = {"rtl": "rtl", "approx": "approx (compiled engine)"}


# -- run: results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["interpret", "approx", "rtl"])
def test_run_prints_a_result_and_no_talk(step: Step, fragile: str, backend: str) -> None:
    out = step("run", f"{fragile}:good", "--backend", backend).ok()
    assert (f"fragile on {TIMED_BY.get(backend)}: 34 cycles" in out) == (backend in TIMED_BY)
    outputs = "products: 3 elements, the first one [[1.]]\nscaled_rows: 3 elements, the first one [[3.]]\n"
    assert out.endswith(outputs) == (backend != "approx")  # the fast model computes no values


def test_run_says_how_many_cycles_it_jumped_over(step: Step) -> None:
    path = PROGRAMS / "rows.py"
    result = step("run", path, "--backend", "approx")
    found = re.search(r"rows on approx \(compiled engine\): 3,602 cycles, ([\d,]+) of them jumped over\n", result.out)
    assert found is not None and (result.code, result.err) == (0, "")
    assert 1000 < int(found[1].replace(",", "")) < 3602
    for switch in (("--no-jump",), ("--engine", "python")):
        assert "cycles\n" in step("run", path, "--backend", "approx", *switch).out
    plain = [json.loads(step("run", path, "--backend", "approx", "--json", *each).out) for each in ((), ("--no-jump",))]
    assert plain[0]["jumped_cycles"] > 1000 and plain[1]["jumped_cycles"] == 0
    assert plain[0]["operators"] == plain[1]["operators"] and plain[0]["channels"] == plain[1]["channels"]


@pytest.mark.parametrize("backend", ["interpret", "approx", "rtl"])
def test_run_as_json_fits_the_printed_schema(step: Step, backend: str) -> None:
    schema = json.loads(step("schema", "result").out)
    data = json.loads(step("run", SIMPLE, "--backend", backend, "--json").ok())
    jsonschema.Draft202012Validator(schema).validate(data)
    assert (data["backend"], data["program"], data["status"], data["error"]) == (
        backend, "moe_simple", "finished", None,
    )  # fmt: skip
    assert data["cycles"] == (0 if backend == "interpret" else cycles_of_simple())
    assert data["events"] is None


def test_both_timed_back_ends_give_the_same_events(step: Step, fragile: str) -> None:
    found = {}
    for backend in ("approx", "rtl"):
        result = step("run", f"{fragile}:good", "--backend", backend, "--json", "--events")
        found[backend] = json.loads(result.out)
    assert found["approx"]["events"] == found["rtl"]["events"]
    events = found["rtl"]["events"]
    assert set(events) == set(found["rtl"]["channels"])
    assert events["left"] == {"cycles": [0, 1, 2, 3], "control": [2, 6, 6, 1], "leaves": [1, 2, 3, 4]}


def test_save_replaces_the_file_as_a_whole(step: Step, fragile: str, tmp_path: Path, monkeypatch: Any) -> None:
    saved = tmp_path / "result.json"
    result = step("run", f"{fragile}:good", "--save", saved, "--events")
    assert result.code == 0 and result.out.splitlines()[-1] == f"written: {saved}"
    first = RunResult.load(saved)
    assert (first.status, first.cycles, first.events is not None) == (Status.FINISHED, 34, True)
    assert step("run", f"{fragile}:stuck", "--backend", "approx", "--save", saved).code == 4
    kept = saved.read_bytes()
    failed = RunResult.load(saved)
    assert (failed.status, failed.cycles) == (Status.DEADLOCK, 16)
    assert failed.error is not None and failed.error.startswith("deadlock: from cycle 16 on nothing can move")

    def breaks(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", breaks)
    result = step("run", f"{fragile}:good", "--backend", "approx", "--save", saved)
    assert result == (1, "", f"error: {saved} can not be written: No space left on device\n")
    assert saved.read_bytes() == kept
    assert {path.name for path in saved.parent.iterdir()} - {"__pycache__"} == {"result.json", Path(fragile).name}


def test_a_place_where_nothing_can_be_saved_is_told_before_the_run(step: Step, fragile: str) -> None:
    # The variant deadlocks, which would be told if it ran.
    message = f"error: {fragile}/there can not be written: Not a directory\n"
    for verb, program, option in (
        ("run", "stuck", "--save"), ("compare", "stuck", "--save"), ("show", "good", "-o"), ("verilog", "good", "-o"),
    ):  # fmt: skip
        assert step(verb, f"{fragile}:{program}", option, f"{fragile}/there") == (1, "", message)


# -- run: failures --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["interpret", "approx", "rtl"])
def test_a_fault_exits_with_4_and_is_a_result_as_json(step: Step, fragile: str, backend: str) -> None:
    assert step("run", f"{fragile}:ragged", "--backend", backend) == (4, "", FAULT)
    result = step("run", f"{fragile}:ragged", "--backend", backend, "--json")
    assert (result.code, result.err) == (4, FAULT)
    if backend != "interpret":
        data = json.loads(result.out)
        assert RunResult.from_json(data).status is Status.FAULT
        assert "error: " + re.sub(r"[^ (]*fragile\.py", "fragile.py", data["error"]) + "\n" == FAULT


@pytest.mark.parametrize("backend", ["approx", "rtl"])
def test_a_deadlock_exits_with_4(step: Step, fragile: str, backend: str) -> None:
    assert step("run", f"{fragile}:stuck", "--backend", backend).failed(4).startswith(DEADLOCK_HEAD)


@cases(("run", "--backend", "approx"), ("run", "--backend", "rtl"), ("compare", "--jobs", "1"))
def test_max_cycles(verb: str, option: str, value: str, step: Step, fragile: str) -> None:
    run = (verb, f"{fragile}:good", option, value, "--max-cycles")
    assert step(*run, 34).code == 0
    message = "error: the run did not end within 10 cycles; raise max_cycles if that is too few\n"
    assert step(*run, 10) == (4, "", message)
    assert step(*run, 0).code == 1


def test_what_the_fabric_can_not_hold_exits_with_1(step: Step, fragile: str) -> None:
    assert step("run", f"{fragile}:columns", "--backend", "rtl") == (1, "", COLUMNS.format(fragile))


def test_the_fast_model_runs_tiles_of_dynamic_size(step: Step) -> None:
    result = step("run", f"{MIXTRAL}:dynamic", "--backend", "approx", "--json")
    found = json.loads(result.out)
    assert (result.code, result.err, found["status"], found["engine"]) == (0, "", "finished", "compiled")


@cases(
    (("--backend", "interpret", "--max-cycles", "9"),
     "--max-cycles has no effect with --backend interpret; it needs approx or rtl"),
    (("--backend", "interpret", "--events", "--json"),
     "--events has no effect with --backend interpret; it needs approx or rtl"),
    (("--backend", "interpret", "--waves", "w.vcd"), "--waves has no effect with --backend interpret; it needs rtl"),
    (("--backend", "approx", "--waves", "w.vcd"), "--waves has no effect with --backend approx; it needs rtl"),
    (("--backend", "rtl", "--no-jump"), "--no-jump has no effect with --backend rtl; it needs approx"),
    (("--backend", "published", "--check"),
     "--check has no effect with --backend published; it needs approx or interpret or rtl"),
    (("--check",), "--check needs expected outputs, but the program has none for this data"),
    (("--events",), "--events has no effect without --json or --save"),
    (("--waves", "w.txt"), "waves must go to a file that ends in .vcd or .fst, not 'w.txt'"),
)  # fmt: skip
def test_options_that_make_no_sense(arguments: tuple[str, ...], message: str, step: Step, fragile: str) -> None:
    assert step("run", f"{fragile}:good", *arguments) == (1, "", f"error: {message}\n")


def test_several_programs_are_too_many_to_run(step: Step, fragile: str) -> None:
    message = f"error: {fragile}:several gives 2 programs, but one is needed here; choose one: {fragile}:several[0]\n"
    assert step("run", f"{fragile}:several") == (1, "", message)
    assert step("run", f"{fragile}:several[1]", "--backend", "approx").code == 0


# -- run: what limits it, and what is expected ----------------------------------------------------------------------

LIMITS = """\
operator        busy  of run  starved  blocked  waits for
row_sum           13     38%      24%       0%  rows_broadcast
left               4     12%       0%       0%  -
right              4     12%       0%       0%  -
product            4     12%       3%       0%  left
products           4     12%      18%       0%  product
rows               4     12%       0%       0%  -
rows_broadcast     4     12%       3%      35%  scaled
spread             4     12%      71%       0%  alone
scaled             4     12%      74%       0%  spread
scaled_rows        4     12%      88%       0%  scaled
alone              3      9%      71%       0%  row_sum
"""


@pytest.mark.parametrize("backend", ["approx", "rtl"])
def test_the_table_begins_with_what_limits_the_run(step: Step, fragile: str, backend: str) -> None:
    """The same in both timed back ends."""
    head, *lines = step("run", f"{fragile}:good", "--backend", backend).out.splitlines()[: 2 + 11]
    assert head == f"fragile on {TIMED_BY[backend]}: 34 cycles"
    assert lines == LIMITS.splitlines()


def test_outputs_are_checked(step: Step, fragile: str) -> None:
    for backend in ("approx", "interpret", "rtl"):
        out = step("run", f"{fragile}:expecting", "--check", "--backend", backend).ok()
        assert out.splitlines()[-1] == "ok: scaled_rows as expected, within 0.00% (tolerance 0.00%)"
    wrong = "output 'scaled_rows' is 9 at [2], but 10 is expected; the tolerance is 0.00% of the largest one expected"
    result = step("run", f"{fragile}:disappointed", "--check", "--backend", "interpret")
    assert (result.code, result.err) == (4, f"error: {wrong}\n")
    assert step("run", f"{fragile}:disappointed", "--backend", "interpret").code == 0
    assert "ok: " not in step("run", f"{fragile}:expecting", "--check", "--backend", "interpret", "--json").out


# -- run: waves -----------------------------------------------------------------------------------------------------


def test_waves_show_the_units_at_work(step: Step, fragile: str, tmp_path: Path) -> None:
    waves = tmp_path / "run.vcd"
    assert step("compare", f"{fragile}:good", "--waves", waves).code == 0
    assert step("verilog", f"{fragile}:good", "-o", tmp_path / "v", "--bench").code == 0
    sidecar = json.loads((tmp_path / "v" / "fabric.json").read_text())
    signals = [(name, len(signal.tv)) for signal in VCDVCD(str(waves)).data.values() for name in signal.references]
    for unit in sidecar["units"]:
        inside = [(name, changes) for name, changes in signals if f".{unit['instance']}." in name]
        assert any(changes > 1 and not name.endswith(".clk") for name, changes in inside), unit


# -- compare --------------------------------------------------------------------------------------------------------


def test_compare_as_json(step: Step, fragile: str) -> None:
    """Several programs at once, one of which is a list."""
    found = json.loads(step("compare", f"{fragile}:several", SIMPLE, "--json").ok())
    assert [each["program"] for each in found] == ["fragile", "fragile", "moe_simple"]
    for each in found:
        assert each["passed"] is True and each["outputs_equal"] is True
        assert (each["mismatches"], each["first_mismatch"], each["first_difference"]) == (0, None, None)
        assert (each["buffers"], each["first_peak"], each["first_traffic"]) == ([], None, None)
        assert each["error"] == 0.0 and each["exact_cycles"] == each["approximate_cycles"]
    simple = found[2]
    assert found[0]["traffic"] == []
    for each in simple["traffic"]:
        assert each["exact"] == each["approximate"]
        assert each["exact"]["read_bytes"] + each["exact"]["written_bytes"] == each["symbolic"] > 0
    assert (simple["exact_cycles"], simple["tolerance"]) == (cycles_of_simple(), 2**-8)
    assert 0 < simple["deviation"] < simple["tolerance"]
    assert len(simple["operators"]) == 34
    assert (found[0]["deviation"], found[0]["tolerance"]) == (None, None)


def test_compare_as_a_table(step: Step, fragile: str) -> None:
    every = step("compare", f"{fragile}:good", "--all").ok().splitlines()
    assert every[:2] == [
        "fragile: cycles per operator, RTL | fast model where it differs",
        "operator        busy  starved  blocked  error  off time",
    ]
    count = every.index("") - 2
    assert step("compare", f"{fragile}:good").ok().splitlines()[:3] == [
        f"fragile: {count} operators have the same cycles in RTL and fast model (--all)",
        "",
        "RTL | fast model where it differs",
    ]
    short = step("compare", f"{fragile}:good", "--no-operators")
    lines = short.out.splitlines()
    assert lines[:3] == [
        "RTL | fast model where it differs",
        "program  cycles  error  tokens  off time  off-chip bytes  outputs  float64",
        "fragile      34  0.00%      42         0               0    equal        -",
    ]
    assert lines[-1] == "ok: RTL, fast model and interpreter agree on 1 program"


def test_compare_tells_what_is_not_as_expected(step: Step, fragile: str) -> None:
    """The back ends agree, so the expectation is wrong, or the program is."""
    result = step("compare", f"{fragile}:disappointed", f"{fragile}:expecting", "--no-operators")
    assert result.code == 4 and "ok: " not in result.out
    assert result.err.splitlines() == [
        "fragile: output 'scaled_rows' is 9 at [2], but 10 is expected",
        "error: the back ends agree, but the outputs of fragile are not what the program expects",
    ]


def test_compare_on_other_data(step: Step, fragile: str, tmp_path: Path) -> None:
    data = tmp_path / "other.npz"
    assert step("inputs", f"{fragile}:good", "-o", data, "--keep", "left", "--keep", "right").code == 0
    (found,) = json.loads(step("compare", f"{fragile}:expecting", "--inputs", data, "--json").out)
    assert (found["passed"], found["deviation"]) == (True, None)


def test_compare_saves_what_it_found(step: Step, fragile: str, tmp_path: Path) -> None:
    """Also what came before a failure, with the failure."""
    saved = tmp_path / "found.json"
    result = step("compare", f"{fragile}:good", "--save", saved)
    assert result.code == 0 and f"written: {saved}\n" in result.out
    validate(json.loads(saved.read_text()), "comparison", "saved")
    assert json.loads(saved.read_text())["error"] is None
    assert step("compare", f"{fragile}:mixed", "--save", saved).code == 4
    data = json.loads(saved.read_text())
    validate(data, "comparison", "saved")
    assert [each["passed"] for each in data["comparisons"]] == [True]
    assert data["error"].startswith("deadlock: from cycle 16 on")


@pytest.mark.parametrize(("option", "value"), [("--inputs", "data.npz"), ("--waves", "run.vcd")])
def test_compare_with_what_is_for_one_program(
    step: Step, fragile: str, tmp_path: Path, option: str, value: str
) -> None:
    np.savez(tmp_path / "data.npz", left=np.zeros(1))
    for specs in ((f"{fragile}:good", f"{fragile}:good"), (f"{fragile}:several", f"{fragile}:good")):
        result = step("compare", *specs, option, tmp_path / value)
        assert result == (1, "", f"error: {option} needs one program, but there are {1 + len(set(specs))}\n")


def test_compare_in_other_processes(step: Step, fragile: str) -> None:
    """The same, in the same order; one that fails does not end the others."""
    programs = (f"{fragile}:good", f"{fragile}:stuck", f"{fragile}:good")
    result = step("compare", *programs, "--jobs", 2, "--json")
    assert result.code == 4 and result.err.startswith(DEADLOCK_HEAD)
    assert [(each["passed"], each["exact_cycles"]) for each in json.loads(result.out)] == [(True, 34)] * 2
    message = "error: --waves needs one program, and --jobs and --scheduler are for several\n"
    assert step("compare", *programs, "--jobs", 2, "--waves", "run.vcd") == (1, "", message)
    message = "error: jobs has no effect with a scheduler: its workers run the points\n"
    assert step("compare", *programs, "--jobs", 2, "--scheduler", "tcp://127.0.0.1:1") == (1, "", message)


def test_compare_with_modelled_arithmetic(step: Step) -> None:
    (found,) = json.loads(step("compare", SIMPLE, "--set", "fabric.arithmetic=model", "--json").out)
    assert (found["passed"], found["exact_cycles"]) == (True, cycles_of_simple())


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_compare_of_programs_that_fail(step: Step, fragile: str, form: tuple[str, ...]) -> None:
    assert step("compare", f"{fragile}:ragged", *form) == (4, "", FAULT)
    assert step("compare", f"{fragile}:stuck", *form).failed(4).startswith(DEADLOCK_HEAD)
    assert step("compare", f"{fragile}:columns", *form) == (1, "", COLUMNS.format(fragile))


def test_compare_needs_data(step: Step, fragile: str) -> None:
    result = step("compare", f"{fragile}:bare")
    assert result == (1, "", "error: there is no input 'left'; the program needs left, right, rows\n")


def test_compare_tells_of_a_difference(step: Step, fragile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fast model that is off by one is found, and told with the first token."""
    run = comparing.approx.run

    def late(*arguments: Any, **options: Any) -> RunResult:
        found = run(*arguments, **options)
        assert found.events is not None
        found.events["scaled"].cycles[1:] += 1
        return found

    monkeypatch.setattr(comparing.approx, "run", late)
    result = step("compare", f"{fragile}:good")
    assert result.code == 4
    title, head, row, same, *_ = result.out.splitlines()
    assert title == "fragile: cycles per operator, RTL | fast model where it differs"
    assert (head.split()[0], row.split()[0], row.split()[-1]) == ("operator", "scaled", "3")
    assert re.fullmatch(r"\d+ operators have the same cycles in RTL and fast model \(--all\)", same)
    lines = result.err.splitlines()
    assert re.fullmatch(r"fragile: scaled: token 1 at \d+ in the RTL, \d+ in the model", lines[0])
    assert lines[1:] == ["error: the back ends disagree on fragile"]


FINE, MORE = TrafficResult(64, 0, 1), TrafficResult(128, 0, 2)


@cases(
    ("traffic", (TrafficComparison("load", FINE, FINE, 64), TrafficComparison("store", FINE, MORE, 64)),
     "store: 1 beats to and from off-chip memory in the RTL, 2 in the model"),
    ("buffers", (BufferComparison("fine", 64, 64, 64), BufferComparison("b", 64, 128, None)),
     "b: 64 bytes at most in the RTL, 128 in the model"),
)  # fmt: skip
def test_compare_tells_of_memory(
    what: str, found: tuple[object, ...], line: str, step: Step, fragile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, f"compare_{what}", lambda *_: found)
    result = step("compare", f"{fragile}:good", "--no-operators")
    assert (result.code, result.err.splitlines()) == (
        4,
        [f"fragile: {line}", "error: the back ends disagree on fragile"],
    )


# -- verilog --------------------------------------------------------------------------------------------------------


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_verilog_for_synthesis(step: Step, tmp_path: Path) -> None:
    directory = tmp_path / "one"
    out = step("verilog", SIMPLE, "-o", directory).ok()
    first = contents(directory)
    assert out == (f"{directory}: {len(first) - 4} files, top module fabric_moe_simple, 34 units, 41 channels\n")
    sidecar = json.loads(first["fabric.json"])
    others = {"fabric.json", "manifest.sha256", "bin/verilator", "bin/yosys"}
    assert set(first) == {*others, *sidecar["files"], *sidecar["waivers"], *sidecar["lists"]}
    assert not sidecar["cpp"] and not (directory / "data").exists()

    again = step("verilog", SIMPLE, "-o", tmp_path / "two", "--json")
    assert (again.code, json.loads(again.out)) == (0, sidecar)
    assert contents(tmp_path / "two") == first
    assert step("verilog", SIMPLE, "-o", directory).code == 0
    assert contents(directory) == first

    for name, text in first.items():
        if name.endswith(".sv"):
            assert not re.search(rb"\$display|\$finish|\$write|\$f?open|\$stop|DPI-C|\bimport\b|#\d|probe_", text), name
            # Registers and memories may have values at power-on; nothing else may happen there.
            text = re.sub(rb"//[^\n]*", b"", text)
            for block in re.findall(rb"\binitial\b(?!\s*begin)([^;]*;)|\binitial\s+begin(.*?)\bend\b", text, re.DOTALL):
                statements = b"".join(block)
                assert re.fullmatch(rb"(?:\s*\\?[\w.$]+\s*(?:\[[^\]]*\])?\s*=\s*\d+'[bdhs][\w?]+;)*\s*", statements), (
                    name, statements[:200],
                )  # fmt: skip

    tools = find_toolchain()
    files = [*sidecar["waivers"], *sidecar["files"]]
    command = [str(tools.verilator.path), "--lint-only", "-Wall", "--top-module", sidecar["module"], *files]
    done = subprocess.run(command, cwd=directory, env=tools.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_verilog_with_a_bench_brings_its_data(step: Step, fragile: str, tmp_path: Path) -> None:
    assert step("verilog", f"{fragile}:good", "-o", tmp_path / "v", "--bench").code == 0
    assert {path.name for path in (tmp_path / "v" / "data").iterdir()} == {
        "source.left", "source.right", "source.rows",
    }  # fmt: skip
    assert "probe_" in (tmp_path / "v" / "fabric_fragile.sv").read_text()
    first = contents(tmp_path / "v")
    assert step("verilog", f"{fragile}:good", "-o", tmp_path / "v", "--bench").code == 0
    assert contents(tmp_path / "v") == first


def test_verilog_leaves_no_file_of_another_design(step: Step, fragile: str, tmp_path: Path) -> None:
    """Nor its data; what somebody else put there stays."""
    assert step("verilog", f"{fragile}:good", "-o", tmp_path / "new").code == 0
    wanted = contents(tmp_path / "new")
    used = tmp_path / "used"
    assert step("verilog", SIMPLE, "-o", used, "--bench").code == 0
    assert set(contents(used)) - set(wanted)
    (used / "notes.txt").write_text("mine")
    assert step("verilog", f"{fragile}:good", "-o", used).code == 0
    assert contents(used) == {**wanted, "notes.txt": b"mine"}


def test_verilog_without_data_has_no_bench(step: Step, fragile: str, tmp_path: Path) -> None:
    message = "error: --bench needs input data, but the program has none; give --inputs FILE.npz\n"
    assert step("verilog", f"{fragile}:bare", "-o", tmp_path / "v", "--bench") == (1, "", message)
    assert not (tmp_path / "v").exists()
    assert step("verilog", f"{fragile}:bare", "-o", tmp_path / "v").code == 0


def test_models_are_for_a_bench_only(step: Step, tmp_path: Path) -> None:
    model = ("verilog", SIMPLE, "-o", tmp_path / "v", "--set", "fabric.arithmetic=model")
    message = 'error: arithmetic="model" can only be simulated; Verilog for synthesis needs arithmetic="rtl"\n'
    assert step(*model) == (1, "", message)
    assert not (tmp_path / "v").exists()
    assert step(*model, "--bench").code == 0
    assert list((tmp_path / "v").glob("*.cpp"))


# -- the environment ------------------------------------------------------------------------------------------------


def test_doctor_finds_all(step: Step) -> None:
    assert "MISSING" not in step("doctor").ok()
    findings = json.loads(step("doctor", "--json").out)
    assert [set(each) for each in findings] == [{"tool", "found", "minimum", "ok", "required", "hint"}] * len(findings)
    assert all(each["ok"] for each in findings if each["required"])


def test_doctor_makes_what_first_runs_wait_for(step: Step) -> None:
    findings = json.loads(step("doctor", "--prepare", "--json").out)
    assert [each["tool"] for each in findings[-2:]] == ["fast model", "RTL"]
    assert all(each["ok"] and re.fullmatch(r"ran in \d+\.\d s", each["found"]) for each in findings[-2:])


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on PATH."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("CXX", raising=False)


def test_doctor_on_a_bare_machine(step: Step, bare_machine: None, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("STEP_VERILATOR", str(tmp_path / "gone"))
    result = step("doctor")
    assert (result.code, result.err) == (3, "error: missing or too old: verilator, g++, make, perl\n")
    missing = {"verilator": "5.036", "g++": "10", "make": "4", "perl": "5.10"}
    for tool, minimum in missing.items():
        assert f"MISSING  {tool} (>= {minimum}) not found: {HINTS[tool]}\n" in result.out
    as_json = step("doctor", "--prepare", "--json")
    assert as_json.code == 3
    assert {each["tool"] for each in json.loads(as_json.out) if each["required"] and not each["ok"]} == set(missing)


def test_a_run_without_a_compiler_exits_with_3(step: Step, fragile: str, bare_machine: None, monkeypatch: Any) -> None:
    monkeypatch.delenv("STEP_VERILATOR", raising=False)
    assert step("run", f"{fragile}:good") == (3, "", f"error: g++ not found: {HINTS['g++']}\n")
    assert step("run", f"{fragile}:good", "--backend", "approx").code == 0


def test_a_compiler_that_fails_exits_with_2(step: Step, fragile: str, tmp_path: Path, monkeypatch: Any) -> None:
    compiler = tmp_path / "broken-g++"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "g++ 12.9.9" && exit 0\necho "x.cpp:1: error: no" >&2; exit 1\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("STEP_CACHE", str(cold_cache(tmp_path / "cache")))
    lines = step("run", f"{fragile}:good").failed(2).splitlines()
    assert lines[0] == "error: make failed:" and "  x.cpp:1: error: no" in lines
    assert Path(lines[-1].removeprefix("full log: ")).is_file()
    assert not list((tmp_path / "cache").glob("*.partial"))


HIDING = """
import os
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in os.environ["HIDDEN"].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture
def without(tmp_path: Path) -> Callable[..., Result]:
    """Runs the command line in a Python that lacks some modules."""
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(HIDING)

    return lambda modules, *arguments: in_a_process(*arguments, PYTHONPATH=str(hook), HIDDEN=modules)


@cases(("amaranth", "amaranth"), pytest.param("cocotb,cocotb_tools", "cocotb_tools", marks=pytest.mark.slow))
def test_modules_that_are_not_installed(hidden: str, named: str, without: Any, fragile: str) -> None:
    hint = f"needs the module {named}; install it with: pip install 'step-fabric[sim]'"
    for verb in (("run", "--backend", "rtl"), ("compare",)):
        code, out, err = without(hidden, verb[0], f"{fragile}:good", *verb[1:])
        assert (code, out, without_progress(err)) == (3, "", f"error: the back end rtl {hint}\n")
    assert without(hidden, "run", f"{fragile}:good", "--backend", "approx").code == 0
    assert without(hidden, "doctor").out.startswith("ok       python")


def test_verbs_that_are_not_installed_are_listed(without: Any, fragile: str) -> None:
    code, out, err = without("amaranth", "--help")
    assert (code, err) == (0, "") and re.search(r"^  verilog +Write a program's RTL", out, re.MULTILINE)
    hint = "step verilog needs the module amaranth; install it with: pip install 'step-fabric[sim]'"
    code, out, err = without("amaranth", "verilog", f"{fragile}:good", "-o", "there", "--bench")
    assert (code, out, without_progress(err)) == (3, "", f"error: {hint}\n")
