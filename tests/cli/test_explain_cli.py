"""``step explain``: its tables, its traces, exit codes and exact complaints."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from commanding import PROGRAMS, Step
from raising import raising

from step.errors import FormatError
from step.programs.files.json_file import validate

FRAGILE = "tests/integration/fragile.py"  # its simulator is built for other tests too
SWIGLU = "examples/swiglu.py"


def test_tables(step: Step) -> None:
    lines = step("explain", SWIGLU, "--top", 3).ok().splitlines()
    assert lines[0] == "swiglu_rows4_columns16: 4,366 cycles along the critical path"
    assert [line.split() for line in lines[1:6]] == [
        ["what", "why", "cycles", "share"],
        ["gate_projection", "works", "4,032", "92.3%"],
        ["off-chip", "memory", "latency", "73", "1.7%"],
        ["down_projection", "latency", "72", "1.6%"],
        ["24", "others", "189", "4.3%"],
    ]
    assert re.fullmatch(
        r"  accum 'gate_projection' \(step_models/swiglu\.py:\d+\) uses 16 of 64 lanes: an ordered sum takes a term "
        r'at a time, Matmul\(sum="fused"\) several',
        lines[7],
    )
    assert "operators, in % of the cycles" in lines
    assert [line.rsplit(maxsplit=2) for line in lines[-4:]] == [
        ["--set fabric.stages=1", "1,230", "71.8%"],
        ["--set memory.latency=1", "4,298", "1.6%"],
        ["down_projection: as fast as its links", "4,342", "0.5%"],
        ["gate_projection: as fast as its links", "4,357", "0.2%"],
    ]


def test_repeated_parts_have_one_row(step: Step) -> None:
    """With the mean of all, and the one that is busy most; ``--unfold`` has a row for each."""
    folded = step("explain", "examples/moe_mixtral.py", "--no-what-if", "--top", 2).out.splitlines()
    assert "expert*_gate_projection (8 alike, most of it expert6_gate_projection) limits the run:" in folded[5]
    rows = [line.split()[:4] for line in folded if line.startswith("expert*_gate_projection  ")]
    assert rows[-1] == ["expert*_gate_projection", "8", "70%", "94%"]
    unfolded = step("explain", "examples/moe_mixtral.py", "--no-what-if", "--unfold").out.splitlines()
    rows = [line.split()[:4] for line in unfolded if re.match(r"expert\d_gate_projection +1 ", line)]
    assert len(rows) == 8 and ["expert6_gate_projection", "1", "94%", "94%"] in rows


def test_a_program_without_operations_has_no_roof(step: Step) -> None:
    out = step("explain", PROGRAMS / "copied.py").ok()
    assert "roofline: no operations, so there is no roof to show" in out.splitlines()


def test_json(step: Step) -> None:
    found = json.loads(step("explain", SWIGLU, "--json").out)
    validate(found, "explanation", "stdout")
    assert (found["format"], found["program"]) == ("step-explanation-3", "swiglu_rows4_columns16")
    assert found["cycles"] == 4366 == sum(each["cycles"] for each in found["critical_path"])
    assert sum(each["share"] for each in found["critical_path"]) == pytest.approx(1)
    assert found["what_if"][0] == {"text": "--set fabric.stages=1", "cycles": 1230}
    for each in found["operators"].values():
        waited = sum(each["starved"].values()) + sum(each["blocked"].values())
        assert each["busy"] + waited + each["finished"] == 4366
    roofline = found["roofline"]
    assert roofline["attained"] == roofline["flops"] / 4366 < roofline["roof"] <= roofline["peak"]


def test_the_schema_takes_nothing_else(step: Step) -> None:
    found = json.loads(step("explain", FRAGILE, "--json", "--no-what-if").out)
    assert found["what_if"] == []
    for wrong, complaint in (
        ({"cycles": "34"}, "here: $.cycles: '34' is not of type 'integer'"),
        ({"memory": 1.5}, "here: $.memory: 1.5 is greater than the maximum of 1"),
        ({"roof": 1}, "here: $: Additional properties are not allowed ('roof' was unexpected)"),
    ):
        with raising(FormatError, complaint):
            validate({**found, **wrong}, "explanation", "here")


def traced(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The events of a trace by process, after a look at whether the format allows each of them."""
    read = json.loads(path.read_text())
    assert set(read) == {"displayTimeUnit", "otherData", "traceEvents"} and read["displayTimeUnit"] == "ns"
    names = {each["pid"]: each["args"]["name"] for each in read["traceEvents"] if each["name"] == "process_name"}
    found = defaultdict(list)
    for each in read["traceEvents"]:
        assert all(isinstance(each[key], int) for key in ("pid", "tid")) and isinstance(each["name"], str)
        keys = set(each) - {"ph", "name", "pid", "tid"}
        match each["ph"]:
            case "M":
                assert keys == {"args"} and each["name"] in ("process_name", "thread_name")
            case "C":
                assert keys == {"ts", "args"} and each["args"]["value"] >= 0
            case "X":
                assert keys == {"ts", "dur"} and each["ts"] >= 0 < each["dur"]
            case other:
                pytest.fail(f"an event of phase {other}")
        found[names[each["pid"]]].append(each)
    return found


def cycle(each: dict[str, Any], key: str = "ts") -> int:
    return round(each[key] * 1000)


def test_trace_of_both_sides(step: Step, tmp_path: Path) -> None:
    path = tmp_path / "fragile.json"
    result = step("explain", FRAGILE, "--no-what-if", "--trace", path, "--rtl")
    assert (result.code, result.err) == (0, "") and result.out.endswith(f"written: {path}\n")
    found = traced(path)
    assert set(found) == {
        "critical path", "fast model: operators", "fast model: tokens in channels", "RTL: operators",
        "RTL: tokens in channels",
    }  # fmt: skip
    # The critical path has no gap, and no track has two things at once.
    steps = [each for each in found["critical path"] if each["ph"] == "X"]
    assert cycle(steps[0]) == 0 and cycle(steps[-1]) + cycle(steps[-1], "dur") == 34
    for process in found.values():
        ends: dict[int, int] = {}
        for each in sorted((each for each in process if each["ph"] == "X"), key=cycle):
            assert cycle(each) >= ends.get(each["tid"], 0)
            ends[each["tid"]] = cycle(each) + cycle(each, "dur")
    # Both sides agree in every token, so their counters do.
    model, exact = (
        [(each["name"], each["ts"], each["args"]) for each in found[f"{side}: tokens in channels"] if each["ph"] == "C"]
        for side in ("fast model", "RTL")
    )
    assert model == exact and max(each["value"] for _, _, each in model) > 1
    # A firing of an operator is seen in RTL as tokens that pass.
    tracks = {
        side: {
            each["args"]["name"]: each["tid"] for each in found[f"{side}: operators"] if each["name"] == "thread_name"
        }
        for side in ("fast model", "RTL")
    }
    assert tracks["fast model"] == tracks["RTL"]
    fires = {(each["tid"], cycle(each)) for each in found["fast model: operators"] if each["name"] == "fires"}
    taken = {(each["tid"], cycle(each)) for each in found["RTL: operators"] if each["name"].startswith("takes")}
    assert taken and taken <= fires


def test_trace_of_a_window(step: Step, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    step("explain", SWIGLU, "--no-what-if", "--trace", whole)
    assert step("explain", SWIGLU, "--no-what-if", "--trace", part, "--from", 100, "--to", 299).code == 0
    events, all_events = traced(part), traced(whole)
    for process, some in events.items():
        assert all(100 <= cycle(each) <= 300 for each in some if each["ph"] != "M"), process
        ends = [cycle(each) + cycle(each, "dur") for each in some if each["ph"] == "X"]
        assert max(ends, default=0) <= 300
    steps = [each for each in events["critical path"] if each["ph"] == "X"]
    assert sum(cycle(each, "dur") for each in steps) == 200
    # At the beginning of the window every channel has the tokens that it has then.
    levels: dict[str, int] = {}
    for each in all_events["fast model: tokens in channels"]:
        if each["ph"] == "C" and cycle(each) <= 100:
            levels[each["name"]] = each["args"]["value"]
    first = {}
    for each in events["fast model: tokens in channels"]:
        if each["ph"] == "C":
            first.setdefault(each["name"], each["args"]["value"])
    assert first == levels and any(levels.values())
    beats = [each for each in events["fast model: off-chip memory"] if each["ph"] == "C"]
    assert [each["name"] for each in beats] == ["beats a cycle"] * 201


def test_run_and_compare_show_the_path(step: Step) -> None:
    explained = step("explain", FRAGILE, "--no-what-if").out
    path = explained[: explained.index("\n\n")]
    assert path.startswith("fragile: 34 cycles along the critical path\n")
    plain = step("run", FRAGILE, "--backend", "approx")
    assert step("run", FRAGILE, "--backend", "approx", "--explain") == (0, f"{plain.out}\n{path}\n", "")
    compared = step("compare", FRAGILE, "--explain")
    assert (compared.code, path in compared.out) == (0, True)


@pytest.mark.parametrize("verb", [["run", FRAGILE, "--backend", "approx"], ["compare", FRAGILE]])
def test_an_explanation_is_no_part_of_other_data(step: Step, verb: list[str]) -> None:
    complaint = "error: --explain has no effect with --json; step explain --json has it as data\n"
    assert step(*verb, "--explain", "--json") == (1, "", complaint)


def test_what_has_no_time_is_not_explained(step: Step) -> None:
    complaint = "error: --explain has no effect with --backend interpret; it needs approx or rtl\n"
    assert step("run", FRAGILE, "--backend", "interpret", "--explain") == (1, "", complaint)


def test_a_deadlock_is_told_as_by_run(step: Step) -> None:
    path = PROGRAMS / "stuck.py"
    ran, explained = step("run", path, "--backend", "approx"), step("explain", path)
    assert explained == (4, "", ran.err) and "deadlock: from cycle" in ran.err


@cases(
    (["--from", "3"], "--from, --to and --rtl have no effect without --trace\n"),
    (["--rtl"], "--from, --to and --rtl have no effect without --trace\n"),
    (["--trace", "t.json", "--from", "9", "--to", "3"], "the first cycle, 9, must not be behind the last one, 3\n"),
    (["--trace", "t.json", "--from", "34"], "the run has 34 cycles, so there is no cycle 34\n"),
    (["--trace", "/proc/t.json"], "/proc/t.json can not be written: No such file or directory\n"),
    (["--max-cycles", "9"], "the run did not end within 9 cycles; raise max_cycles if that is too few\n"),
)  # fmt: skip
def test_complaints(arguments: list[str], complaint: str, step: Step) -> None:
    result = step("explain", FRAGILE, "--no-what-if", *arguments)
    assert (result.out, result.err) == ("", f"error: {complaint}")
    assert result.code == (4 if "--max-cycles" in arguments else 1)
    assert not Path("t.json").exists()
