"""Which tests execute a line: pytest with coverage, a context for each test, and the seconds that it takes.

As a plugin of pytest it tells coverage which test runs; processes that a test starts know it from the environment.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import coverage

from benchmarks.mutation.mutants import ROOMS, Mutant

CONFIGURATION = """
[run]
parallel = true
data_file = {directory}/data
source = {rooms}
context = ${{PYTEST_CURRENT_TEST-}}
patch = _exit
disable_warnings = no-data-collected, module-not-imported, module-not-measured, already-imported
"""
_seconds: dict[str, float] = defaultdict(float)


def pytest_runtest_logstart(nodeid: str) -> None:
    _switch(nodeid)


def pytest_runtest_logfinish() -> None:
    _switch("")


def pytest_runtest_logreport(report: Any) -> None:
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish() -> None:
    Path(os.environ["SECONDS_OF_TESTS"]).write_text(json.dumps(_seconds))


def _switch(context: str) -> None:
    current = coverage.Coverage.current()
    if current is not None:
        current.switch_context(context)


def cover(tree: Path, directory: Path, folders: list[str]) -> None:
    """Run the tests in each of ``folders`` of ``tree``, and keep in ``directory`` what they executed."""
    directory.mkdir(exist_ok=True)
    configuration = directory / "coverage.ini"
    rooms = "\n    ".join(["", *(str(tree / room) for room in ROOMS)])
    configuration.write_text(CONFIGURATION.format(directory=directory, rooms=rooms))
    for folder in folders:
        name = folder.replace("/", "-")
        environment = {
            **os.environ, "PYTHONPATH": str(tree), "COVERAGE_PROCESS_START": str(configuration),
            "SECONDS_OF_TESTS": str(directory / f"{name}.json"),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "benchmarks.mutation.covering", folder]
        subprocess.run(command, cwd=tree, env=environment, check=False)


class Covered:
    """What ``directory`` knows of tests: which lines each executes, and the ``seconds`` it takes."""

    def __init__(self, tree: Path, directory: Path) -> None:
        self._tree = tree
        self.seconds: dict[str, float] = {}
        for path in directory.glob("*.json"):
            self.seconds |= json.loads(path.read_text())
        self._data = coverage.CoverageData(no_disk=True)
        for path in directory.glob("data.*"):
            part = coverage.CoverageData(str(path))
            part.read()
            self._data.update(part)

    def tests(self, mutant: Mutant) -> list[str]:
        """Those that execute a line of ``mutant``, the quickest first.

        What is executed on import all may see that execute anything in its file; these come behind.
        """
        contexts = self._data.contexts_by_lineno(str(self._tree / mutant.path))
        first, last = mutant.lines
        found = {test for line in range(first, last + 1) for test in map(_test, contexts.get(line, ("",)))}
        others = {test for each in contexts.values() for test in map(_test, each)} if "" in found else set[str]()
        return self._quickest(found) + self._quickest(others - found)

    def _quickest(self, tests: set[str]) -> list[str]:
        """``tests``, the quickest first, but not many cases of one function."""
        cases: Counter[str] = Counter()
        cost: dict[str, float] = {}
        for test in sorted(tests & self.seconds.keys(), key=self.seconds.__getitem__):
            function = test.partition("[")[0]
            cases[function] += 1
            cost[test] = self.seconds[test] * cases[function]
        return sorted(cost, key=cost.__getitem__)


def _test(context: str) -> str:
    """The test of a context, which in a process that it started also says what the test was doing."""
    return re.sub(r" \((setup|call|teardown)\)$", "", context.rpartition("|")[2])
