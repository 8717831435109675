"""Sweeps on a real Dask scheduler, in processes of their own; workers that are killed, and schedulers that are not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from filing import filed

import step
from step.errors import EnvironmentProblem
from step_explore.sweeps import cluster
from step_explore.sweeps.axis import Point
from step_explore.sweeps.cluster import Cluster
from step_explore.sweeps.row import LOST, Row, lost

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

Start = Callable[[int], tuple[str, subprocess.Popen[str]]]

CLUSTER = """
import sys
from dask import config
config.set({"distributed.scheduler.allowed-failures": 1})
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, dashboard_address=None) as made:
        print(made.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a scheduler with some workers, and says its address."""
    started = []
    script = filed(tmp_path / "local.py", CLUSTER)

    def run(workers: int) -> tuple[str, subprocess.Popen[str]]:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        process = subprocess.Popen(
            [sys.executable, str(script), str(workers)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().strip(), process

    yield run
    for each in started:
        each.communicate()


def killing(directory: Path, point: Point) -> Row:
    """Point 1 kills its worker the first time, point 2 always, the others never."""
    tried = directory / "tried"
    if point["n"] == 2 or (point["n"] == 1 and not tried.exists()):
        tried.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Row(point, "finished", int(point["n"]))


def test_a_sweep_on_a_cluster(start: Start, tmp_path: Path) -> None:
    address, _ = start(2)
    over = {"rows": [2, 4], "memory.channels": [1, 3, 8]}
    spec = Path(__file__).parents[2] / "examples" / "swiglu.py"
    here = step.sweep(spec, over, jobs=1)
    there = step.sweep(spec, over, scheduler=address, save=tmp_path / "rows.csv")
    assert [(each.point, each.cycles, each.error) for each in there.rows] == [
        (each.point, each.cycles, each.error) for each in here.rows
    ]
    assert (tmp_path / "rows.csv").read_text().count("\n") == 7


def test_workers_that_are_killed(start: Start, tmp_path: Path) -> None:
    address, _ = start(2)
    with Cluster(partial(killing, tmp_path), address, lost) as workers:
        for points, wanted in (
            ([{"n": 0}, {"n": 1}, {"n": 3}], [("finished", 0), ("finished", 1), ("finished", 3)]),
            ([{"n": 2}], [(LOST, None)]),
        ):
            rows = sorted(workers.rows(points), key=lambda row: int(row.point["n"]))
            assert [(row.status, row.cycles) for row in rows] == wanted
    assert rows[0].error == "every worker that ran it was killed; is there enough memory?"


def slow(directory: Path, point: Point) -> Row:
    """A row that takes its time, and says which process ran it."""
    (directory / str(os.getpid())).touch()
    time.sleep(0.05)
    return Row(point, "finished", int(point["n"]))


def test_no_row_is_lost_where_two_of_four_workers_are_killed(start: Start, tmp_path: Path) -> None:
    """They are killed by their numbers, in the middle of 200 points."""
    address, _ = start(4)
    seen = tmp_path / "seen"
    seen.mkdir()
    rows, killed = list[Row](), set[int]()
    with Cluster(partial(slow, seen), address, lost) as workers:
        for row in workers.rows({"n": number} for number in range(200)):
            rows.append(row)
            if len(rows) in (60, 100):
                one = min({int(each.name) for each in seen.iterdir()} - killed)
                os.kill(one, signal.SIGKILL)
                killed.add(one)
    assert len(killed) == 2
    assert sorted((row.status, row.cycles or 0) for row in rows) == [("finished", number) for number in range(200)]


def test_a_cluster_without_workers(start: Start) -> None:
    address, _ = start(0)
    with (
        Cluster(partial(killing, Path()), address, lost, patience=2) as workers,
        pytest.raises(EnvironmentProblem) as caught,
    ):
        list(workers.rows([{"n": 0}]))
    assert str(caught.value) == (
        f"the Dask scheduler at {address} has had no worker for 2 s; start one with: dask worker {address}"
    )


def test_a_scheduler_that_is_lost(start: Start) -> None:
    address, process = start(0)
    with Cluster(partial(killing, Path()), address, lost) as workers:
        process.kill()
        process.wait()
        with pytest.raises(EnvironmentProblem) as caught:
            list(workers.rows([{"n": 0}]))
    assert str(caught.value) == f"the Dask scheduler at {address} was lost, or somebody cancelled the sweep"


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECTING", 1.0)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(EnvironmentProblem, match=f"there is no Dask scheduler at {re.escape(address)}: "):
            Cluster(partial(killing, Path()), address, lost)
