"""The walk of a reader who follows a run from `step.run` on: rooms entered, and stays in them.

A *visit* is the first call of a public function or method of a module. A *room* is a module with a visit, a *stay* is
visits one after the other in one room: who reads the functions in the order in which they are first called turns to
another file so often. What is read once for all programs is no part of it: the language, operators and functions with
their units and plans, and files and libraries (`VOCABULARY`). A run before it has imported, written and built
everything. A run of the RTL is followed until the process of its simulation starts.

    python -m benchmarks.walk [--verbose] [approx] [rtl]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import step
from step import FP32, Graph, Program, Tile
from step.functions import Add

ROOT = Path(step.__file__).parents[1]
FLOORS = ("step", "hw", "sim_approx", "sim_published", "cosim")
VOCABULARY = (
    *("step/language", "step/ops", "step/functions", "step/host", "step/lowering/plans"),
    *("step/rules", "sim_approx/units", "hw/units", "hw/functions"),
)
PROCESS = "step/host/process.py"
"""Starts the process in which the hardware runs."""


def walked(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """The visits of ``call`` in order, up to that of `PROCESS`: the file, from the root of the project on, and the
    function."""
    found: dict[tuple[str, str], None] = {}

    def seen(frame: FrameType, event: str, _: Any) -> None:
        path, name = Path(frame.f_code.co_filename), frame.f_code.co_qualname
        if event != "call" or not path.is_relative_to(ROOT):
            return
        file = path.relative_to(ROOT)
        if file.as_posix() == PROCESS:
            sys.setprofile(None)
        if file.parts[0] not in FLOORS or file.as_posix().startswith(VOCABULARY):
            return
        if "<" not in name and not name.rpartition(".")[2].startswith("_"):
            found[file.as_posix(), name] = None

    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(found)


def program() -> Program:
    """The one of docs/api.md: rows are summed up."""
    graph = Graph("sums")
    graph.source("x", Tile(FP32), [graph.symbol("N"), 3]).accum(Add()).sink("y")
    return Program(graph, {"x": [[1, 2, 3], [4, 5, 6]]})


def main() -> None:
    """Walk runs on the back ends."""
    parser = argparse.ArgumentParser(description="How far a reader walks who follows a run.")
    parser.add_argument("--verbose", action="store_true", help="print every visit")
    parser.add_argument("backends", nargs="*", default=("approx", "rtl"), help="approx and rtl without any")
    arguments, shown = parser.parse_args(), program()
    for backend in arguments.backends:
        step.run(shown, backend)
        visits = walked(lambda backend=backend: step.run(shown, backend))  # type: ignore[misc]
        stays = [(file, [name for _, name in each]) for file, each in groupby(visits, lambda visit: visit[0])]
        if arguments.verbose:
            for number, (file, names) in enumerate(stays, start=1):
                print(f"{number:3} {file}: {', '.join(names)}")
        print(f"{backend}: {len({file for file, _ in stays})} rooms in {len(stays)} stays")


if __name__ == "__main__":
    main()
