"""Sweeps: what is swept over, rows, files that go on, fronts, searches, and processes that are killed."""

from __future__ import annotations

import csv
import functools
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest
from cases import cases
from filing import filed
from raising import raising
from summing import PROGRAM

import step
from step import BF16, FP32, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.errors import Deadlock, FormatError, InputError, StepError
from step.functions import Add
from step.lowering.feasible import lanes_of, with_lanes
from step.programs.prepare import prepare
from step_explore.areas import area_of
from step_explore.sweeps import live, record, subject
from step_explore.sweeps import sweep as sweeping
from step_explore.sweeps.axis import Axis, Point, grid, parse_axis
from step_explore.sweeps.front import pareto_front
from step_explore.sweeps.processes import Processes
from step_explore.sweeps.row import LOST, Row, lost
from step_models import moe

# -- what is swept over ---------------------------------------------------------------------------------------------


@cases(
    ("a=1,2,4", (1, 2, 4)),
    ("a=16..256", (16, 32, 64, 128, 256)),
    ("a=3..3", (3,)),
    ("a=2..10:4", (2, 6, 10)),
    ("a=-2..2:2,7", (-2, 0, 2, 7)),
    ("a=0.5,1e-3,true,false,hbm2,..", (0.5, 0.001, True, False, "hbm2", "..")),
)
def test_values(text: str, values: tuple[object, ...]) -> None:
    found = parse_axis(text).values
    assert found == values and list(map(type, found)) == list(map(type, values))


@cases(
    ("a", "a sweep must be NAME=VALUE,VALUE,... or NAME=LOW..HIGH, not 'a'"),
    ("=1", "a sweep must be NAME=VALUE,VALUE,... or NAME=LOW..HIGH, not '=1'"),
    ("a=", "a sweep must be NAME=VALUE,VALUE,... or NAME=LOW..HIGH, not 'a='"),
    ("a=1,,2", "a has an empty value"),
    ("a=1,2,1", "a has the value 1 twice"),
    ("a=4..2", "a=4..2 is empty: 4 is more than 2"),
    ("a=4..9", "a=4..9: doubling 4 does not lead to 9; steps are written 4..9:1"),
    ("a=0..8", "a=0..8: doubling 0 does not lead to 8; steps are written 0..8:1"),
    ("a=-4..-4", "a=-4..-4: doubling -4 does not lead to -4; steps are written -4..-4:1"),
    ("a=1..9:3", "a=1..9:3: steps of 3 do not lead from 1 to 9"),
    ("a=1..9:0", "a=1..9:0: steps of 0 do not lead from 1 to 9"),
    ("a=0..99999:1", "a=0..99999:1 has 100,000 values, more than 65,536"),
)
def test_values_that_can_not_be(text: str, message: str) -> None:
    with raising(InputError, message):
        parse_axis(text)


def test_a_grid_goes_through_the_last_one_first() -> None:
    points = grid([Axis("a", (1, 2)), Axis("b", ("x", "y"))])
    assert [tuple(each.values()) for each in points] == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]


# -- rows -----------------------------------------------------------------------------------------------------------


def test_parameters_of_the_program_and_of_the_fabric(spec: str) -> None:
    over = {"rows": [2, 5], "fabric.stages": "1..4", "memory": ["hbm2", "ddr4"]}
    found = step.sweep(spec, over, settings=["matmul_lanes=8"], jobs=1)
    assert [tuple(row.point.values()) for row in found.rows][:3] == [(2, 1, "hbm2"), (2, 1, "ddr4"), (2, 2, "hbm2")]
    assert len(found.rows) == 12 and {row.status for row in found.rows} == {"finished"}
    for row in (found.rows[0], found.rows[-1]):
        stages, memory = row.point["fabric.stages"], step.MemoryConfig.preset(row.point["memory"])
        fabric = FabricConfig(matmul_lanes=8, stages=int(stages), memory=memory)
        program = step.load_program(spec, arguments={"rows": row.point["rows"]})
        assert row.cycles == step.run(program, "approx", fabric=fabric).cycles
        metrics = step.metrics(program, fabric).bind(step.bind(program)).items()
        assert {name: getattr(row, name) for name in metrics} == metrics


def test_a_function(spec: str) -> None:
    """Also one that is nobody's but this process's, with what it refers to."""
    count = 3

    def program(rows: int = 2, scale: float = 1.0) -> Program:
        graph = Graph("made")
        graph.source("x", Tile(FP32), [rows, count]).accum(Add()).sink("y")
        return Program(graph, {"x": [[scale] * count] * rows})

    over = {"rows": [2, 5], "fabric.stages": [1, 4]}
    alone, several = (step.sweep(program, over, jobs=jobs, arguments={"scale": 2.0}) for jobs in (1, 2))
    assert [row.cycles for row in alone.rows] == [row.cycles for row in several.rows]
    assert repr(alone) == "<sweep of program: 4 points, 1 on the front>"
    for row in several.rows:
        again = row.program()
        assert again.fabric.stages == row.point["fabric.stages"]
        assert np.array_equal(np.array(again.inputs["x"]), np.full((row.point["rows"], count), 2.0))
        assert step.run(again, "approx").cycles == row.cycles


def test_the_best_row_and_its_program(spec: str) -> None:
    found = step.sweep(spec, {"rows": [5, 2], "fabric.stages": [4, 1, 9]}, jobs=1)
    best = found.best("cycles")
    assert best.point == {"rows": 2, "fabric.stages": 1} and step.run(best.program(), "approx").cycles == best.cycles
    with pytest.raises(InputError) as caught:
        found.best("cycle")
    known = (
        "cycles, flops_per_cycle, useful_flops_per_cycle, bytes_per_cycle, off_chip_bytes, on_chip_bytes, "
        "channel_bytes, load_bytes, flops, useful_flops, energy, time, power, lanes, lut_sites, tokens, "
        "cycles_per_token, seconds"
    )
    assert str(caught.value) == f"a row has no measure 'cycle'; did you mean 'cycles'? there are {known}"
    refused = next(row for row in found.rows if row.status == "refused")
    with pytest.raises(StepError, match="stages must be at most 8, not 9"):
        refused.program()


def test_what_a_row_reached_and_was_bound_by(spec: str) -> None:
    (row,) = step.sweep(spec, {"rows": [5]}, jobs=1).rows
    run = step.run(row.program(), "approx").result
    busiest = max(run.operators, key=lambda name: run.operators[name].busy)
    assert row.bound == f"{busiest} {run.operators[busiest].busy / run.cycles:.0%}"
    assert row.bytes_per_cycle == round(run.off_chip_bytes / run.cycles, 3)
    assert row.flops is not None and row.flops_per_cycle == round(row.flops / run.cycles, 3)
    netlist = prepare(row.program()).netlist
    assert (row.lanes, row.lut_sites) == (sum(lanes_of(each, netlist) for each in with_lanes(netlist)),
                                          round(area_of(netlist).lut_sites))  # fmt: skip


def test_a_run_is_bound_by_its_memory(graph: Graph) -> None:
    graph.load(graph.tensor("x", (64, 32), BF16), tile=(1, 32), name="load").store("y")
    memory = MemoryConfig(channels=1, interval=16)
    program = Program(graph, {"x": np.ones((64, 32))}, FabricConfig(memory=memory))
    (row,) = step.sweep(program, {"fabric.stages": [4]}, jobs=1).rows
    assert row.bound == "off-chip memory 100%"
    assert memory.bandwidth == 4 and row.bytes_per_cycle is not None and 3.7 < row.bytes_per_cycle <= 4


def test_a_row_of_nowhere() -> None:
    with raising(InputError, "this row is of no sweep that ran here; sweep again with save=, which runs nothing twice"):
        Row({"rows": 2}, "finished").program()


def test_functions_that_give_no_program() -> None:
    def nothing(rows: int = 2) -> None:
        return None

    for function, over, message in (
        (nothing, {"rows": [1]},
         "the function nothing must return a Program, a Graph, or a list of them, not NoneType"),
        (nothing, {"row": [1]}, "the function nothing has no parameter 'row'; did you mean 'rows'? it has rows"),
        (lambda: [], {"fabric.stages": [1]}, "the function <lambda> returns an empty list, so there is no program"),
        (lambda: [Graph("a")] * 2, {"fabric.stages": [1]},
         "the function <lambda> gives 2 programs, but one is needed here"),
    ):  # fmt: skip
        with raising(StepError, message):
            step.sweep(function, over, jobs=1)


def test_what_no_other_process_can_have() -> None:
    held = threading.Lock()
    with pytest.raises(InputError, match=r"can not be sent to other processes: cannot pickle '_thread.lock' object"):
        step.sweep(lambda: held, {"fabric.stages": [1]})


def test_what_can_not_be_is_a_row(spec: str) -> None:
    found = step.sweep(spec, {"rows": [2, 7], "memory.channels": [1, 3]}, jobs=1)
    assert [(row.status, row.cycles is None) for row in found.rows] == [
        ("finished", False), ("refused", True), ("refused", True), ("refused", True)
    ]  # fmt: skip
    assert found.rows[1].error == "memory.channels must be a power of two, not 3"
    assert found.rows[2].error == f"{spec}:program: ValueError: seven"
    assert found.front == [found.rows[0]]


def test_a_run_that_fails_is_a_row(spec: str) -> None:
    found = step.sweep(f"{spec}:stuck", {"room": [20, 2]}, jobs=1)
    assert [row.status for row in found.rows] == ["finished", "deadlock"]
    with pytest.raises(Deadlock) as caught:
        step.run(step.load_program(f"{spec}:stuck"), "approx")
    cycle = re.match(r"deadlock: from cycle (\d+) on", str(caught.value))
    assert cycle is not None and found.rows[1].error == f"nothing moves any more from cycle {cycle[1]} on"
    short = step.sweep(f"{spec}:stuck", {"room": [20]}, jobs=1, max_cycles=5).rows[0]
    assert (short.status, short.cycles) == ("runaway", None)
    assert short.error == "the run did not end within 5 cycles; raise max_cycles if that is too few"


def test_a_program_in_memory(graph: Graph) -> None:
    graph.source("x", Tile(FP32), [2, 3]).accum(Add()).sink("y")
    program = Program(graph, {"x": [[1] * 3] * 2}, FabricConfig())
    found = step.sweep(
        program, {"fabric.stages": [1, 4]}, objectives=["cycles"], jobs=1, settings=["fabric.link_bytes=8"]
    )
    for row, stages in zip(found.rows, (1, 4), strict=True):
        assert row.program() == Program(graph, program.inputs, FabricConfig(stages=stages, link_bytes=8))
        assert row.cycles == step.run(row.program(), "approx").cycles
    assert found.columns["fabric.stages"].tolist() == [1, 4]
    with pytest.raises(InputError, match="a sweep on a cluster needs the name of a file with"):
        step.sweep(program, {"fabric.stages": [1]}, scheduler="tcp://127.0.0.1:1")


def test_a_front() -> None:
    costs = [(3, 3), (1, 5), (3, 2), (1, 5), (5, 1), (4, 4), (2, 6)]
    rows = [Row({"n": n}, "finished", cycles, on_chip_bytes=size) for n, (cycles, size) in enumerate(costs)]
    rows.append(Row({"n": 7}, "refused"))
    assert [row.point["n"] for row in pareto_front(rows, ("cycles", "on_chip_bytes"))] == [1, 3, 2, 4]
    assert [row.point["n"] for row in pareto_front(rows, ("cycles",))] == [1, 3]


# -- what is wrong before it begins ---------------------------------------------------------------------------------


@cases(
    ({"cows": [1]}, {}, "{spec}:program has no parameter 'cows'; did you mean 'rows'? it has rows, deep, kind, scale"),
    ({"rows": [7]}, {}, "{spec}:program: ValueError: seven"),
    ({"fabric.lanes": [1]}, {},
     "fabric has no parameter 'lanes'; did you mean 'matmul_lanes' or 'vector_lanes' or 'lanes.OPERATOR'? it has "),
    ({"memory.chanels": [1]}, {},
     "fabric has no parameter 'memory.chanels'; did you mean 'memory.channels'? it has dynamic_rows, "),
    ({"memory.channels": [3]}, {}, "memory.channels must be a power of two, not 3"),

    ({}, {}, "there is nothing to sweep over; give parameters with their values"),
    ({"rows": []}, {}, "rows has no values to sweep over"),
    ({"rows": [1]}, {"objectives": []}, "there must be an objective: cycles, off_chip_bytes, on_chip_bytes, "),
    ({"rows": [1]}, {"objectives": ["cycle"]}, "there is no objective 'cycle'; did you mean 'cycles'? there are "),
    ({"rows": [1]}, {"objectives": ["cycles", "cycles"]}, "the objective cycles is there twice"),

    ({"rows": [1]}, {"save": "/proc/rows.csv"}, "/proc/rows.csv can not be written: No such file or directory"),
)  # fmt: skip
def test_bad_sweeps(over: dict[str, list[object]], options: dict[str, object], message: str, spec: str) -> None:
    with pytest.raises(StepError) as caught:
        step.sweep(spec, over, **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message.format(spec=spec))


def test_a_parameter_of_the_fabric_without_its_prefix(spec: str) -> None:
    with pytest.raises(InputError) as caught:
        step.sweep(spec, {"matmul_lanes": [16]})
    assert str(caught.value).startswith(f"{spec}:program has no parameter 'matmul_lanes'; it has rows")
    assert caught.value.__notes__ == ["  the parameter of the fabric is written fabric.matmul_lanes"]


def test_a_file_without_functions(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    graph = Graph("sums")
    graph.source("x", Tile(FP32), [2]).sink("y")
    Program(graph, {"x": [1, 2]}).save(path)
    with raising(InputError, f"{path} has no parameter 'rows'; functions of Python files have some"):
        step.sweep(path, {"rows": [1]})


# -- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_goes_on(spec: str, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"rows.{form}"
    over = {"rows": [2, 7], "kind": ["plain", "other"], "deep": [True, False], "scale": [0.5, 3]}
    first = step.sweep(spec, over, save=path, jobs=1)
    ran: list[Point] = []
    monkeypatch.setattr(sweeping, "evaluate", functools.partial(_noting, ran, sweeping.evaluate))
    assert step.sweep(spec, over, save=path, jobs=1).rows == first.rows and ran == []
    more = step.sweep(spec, {**over, "rows": [3, 2, 7]}, save=path, jobs=1)
    assert more.rows[8:] == first.rows and ran == [row.point for row in more.rows[:8]]


def _noting(ran: list[Point], evaluate: object, subject: object, point: Point, max_cycles: int | None) -> Row:
    ran.append(point)
    return evaluate(subject, point, max_cycles)  # type: ignore[operator, no-any-return]


def test_an_interrupted_sweep_keeps_its_rows(spec: str, tmp_path: Path) -> None:
    path, told = tmp_path / "rows.csv", []

    def interrupt(text: str) -> None:
        told.append(text)
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        step.sweep(spec, {"rows": "2..5:1"}, save=path, jobs=1, progress=interrupt)
    with path.open(newline="") as file:
        assert [row["rows"] for row in csv.DictReader(file)] == ["2", "3"]
    assert told == ["1 of 4 points; the least cycles: 32, rows=2", "2 of 4 points; the least cycles: 32, rows=2"]
    assert [row.point["rows"] for row in step.sweep(spec, {"rows": "2..5:1"}, save=path, jobs=1).rows] == [2, 3, 4, 5]


def test_a_file_is_whole_at_any_time(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "SAVED_EVERY", 0.0)
    path, seen = tmp_path / "rows.csv", []
    step.sweep(spec, {"rows": "2..4:1"}, save=path, jobs=1, progress=lambda _: seen.append(len(path.read_text())))
    assert len(seen) == 3 and seen == sorted(set(seen))


def test_files_of_something_else(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1)

    def complaint(over: dict[str, list[int]]) -> str:
        with pytest.raises(FormatError) as caught:
            step.sweep(spec, over, save=path, jobs=1)  # type: ignore[arg-type]
        return str(caught.value)

    kept = path.read_text()
    otherwise = "choose another file, or delete it"
    assert complaint({"fabric.dynamic_rows": [4]}) == (
        f"{path} has a sweep over rows, but this one is over fabric.dynamic_rows: {otherwise}"
    )
    Path(spec).write_text(PROGRAM.replace("[scale] * 3", "[scale, 2, 3]"))
    subject._loaded.cache_clear()
    assert complaint({"rows": [2]}) == (
        f"{path} has a sweep of another program, or of this one before it or its data was changed: {otherwise}"
    )
    assert path.read_text() == kept
    path.write_bytes(b"\xff\xfe")
    assert complaint({"rows": [2]}).startswith(f"{path} is no table of a sweep: ")


def test_a_full_disk(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "rows.csv"
    step.sweep(spec, {"rows": [2]}, save=path, jobs=1)
    before = path.read_text()
    monkeypatch.setattr(record, "write_atomically", full)
    with raising(InputError, f"{path} can not be written: No space left on device"):
        step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1)
    assert path.read_text() == before


# -- processes ------------------------------------------------------------------------------------------------------


def killed(directory: Path, always: bool, point: Point) -> Row:
    """Point 1 kills its process, the first time or ``always``."""
    tried = directory / "tried"
    if point["n"] == 1 and (always or not tried.exists()):
        tried.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Row(point, "finished", int(point["n"]))


PARENT = """
import os, time
from step_explore.sweeps.processes import Processes

def work(task):
    print(os.getpid(), flush=True)
    time.sleep(7200)

if __name__ == "__main__":
    with Processes(work, 2, None) as workers:
        list(workers.rows([1, 1]))
"""


def test_no_process_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = filed(tmp_path / "parent.py", PARENT)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    children = [psutil.Process(int(parent.stdout.readline())) for _ in range(2)]
    parent.kill()
    parent.wait()
    psutil.wait_procs(children)  # their work takes longer than a test may


@pytest.mark.parametrize("always", [pytest.param(False, marks=pytest.mark.slow), True])
def test_processes_that_are_killed(tmp_path: Path, always: bool) -> None:
    points = [{"n": n} for n in range(5)]
    with Processes(functools.partial(killed, tmp_path, always), 2, lost) as workers:
        rows = sorted(workers.rows(points), key=lambda row: int(row.point["n"]))
    wanted = [Row(point, "finished", point["n"]) for point in points]
    if always:
        wanted[1] = Row(points[1], LOST, error="its process was killed, alone too; is there enough memory?")
    assert rows == wanted


def test_what_was_lost_is_run_again(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    found = step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1)
    path.write_text(path.read_text().replace("\n3,finished,", "\n3,lost,"))
    assert [row.status for row in step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1).rows] == ["finished"] * 2
    assert path.read_text().count("lost") == 0 and len(found.rows) == 2


def test_a_row_with_assumed_shapes_is_run_and_not_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Symbols, of which its metrics are made, are those that its run shows."""
    found = step.sweep(mixture, {"rows": [0, 2]}, jobs=1)

    def interpreted(program: Program) -> dict[str, int]:
        raise AssertionError(f"{program.name} is interpreted")

    monkeypatch.setattr(subject, "bind", interpreted)
    again = step.sweep(mixture, {"rows": [0, 2]}, jobs=1)
    for row, before in zip(again.rows, found.rows, strict=True):
        known = step.metrics(row.program()).bind(step.bind(row.program()))
        assert (
            (row.flops, row.on_chip_bytes) == (known.flops, known.on_chip_bytes) == (before.flops, before.on_chip_bytes)
        )
        assert row.energy == round(known.energy.total)


def mixture(rows: int) -> Program:
    """Four experts in two regions, on tiles of so many rows, or of dynamic size."""
    routing = [[0, 1], [2, 3], [0, 2], [0, 3], [1, 2]]
    return moe.program(routing, experts=4, hidden=16, inner=16, columns=8, rows=rows or None, regions=2)


# -- searches -------------------------------------------------------------------------------------------------------


def test_a_search_finds_the_best_of_a_grid(spec: str, tmp_path: Path) -> None:
    over = {"rows": "2..6:1", "fabric.stages": "1..4:1", "kind": ["a", "b"]}
    path = tmp_path / "rows.csv"
    found = step.sweep(spec, over, search=15, objectives=["cycles"], save=path, jobs=1)
    points = [tuple(row.point.values()) for row in found.rows]
    assert len(points) == len(set(points)) == 15
    assert found.front[0].cycles == min(row.cycles for row in step.sweep(spec, over, jobs=1).rows)
    again = step.sweep(spec, over, search=15, objectives=["cycles"], jobs=1)
    assert [tuple(row.point.values()) for row in again.rows] == points
    more = step.sweep(spec, over, search=20, objectives=["cycles"], save=path, jobs=1)
    assert more.rows[:15] == found.rows and len(more.rows) == 20


def test_refused_points_do_not_count(spec: str) -> None:
    over = {"rows": "2..11:1", "memory.channels": [1, 3, 5, 7, 9]}  # one of five runs, but for seven rows
    found = step.sweep(spec, over, search=6, jobs=1)
    assert [row.status for row in found.rows].count("finished") == 6 < len(found.rows)


def test_a_search_ends_where_all_is_known(spec: str) -> None:
    found = step.sweep(spec, {"rows": [2, 7], "kind": ["a", "b"]}, search=50, jobs=1)
    assert sorted(row.status for row in found.rows) == ["finished", "finished", "refused", "refused"]


def test_a_plot_is_drawn_as_rows_come(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every row where pictures cost nothing, and at the end only, where the next one is not due."""
    pytest.importorskip("matplotlib")
    drawn = list[int]()
    monkeypatch.setattr(live, "draw_to", lambda path, rows, *rest: drawn.append(len(rows)))
    for every, counts in ((0.0, [1, 2, 3, 3]), (100.0, [3])):
        drawn.clear()
        monkeypatch.setattr(live, "DRAWN_EVERY", every)
        monkeypatch.setattr(live, "SHARE", 0)
        step.sweep(spec, {"rows": [2, 3, 4]}, jobs=1, plot=tmp_path / "front.svg")
        assert drawn == counts
    with pytest.raises(InputError, match="a plot needs two objectives, as in cycles,channel_bytes"):
        step.sweep(spec, {"rows": [2]}, jobs=1, plot=tmp_path / "front.svg", objectives=["cycles"])
