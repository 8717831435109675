"""Ctrl-C while a simulator is built, or a program synthesised: nothing runs on or stays half-made, and the next try
works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from filing import filed
from kept_tools import cold_cache
from progress_lines import without_progress

ROOT = Path(__file__).parents[2]
PROGRAM = """
from step import FP32, FabricConfig, Graph, Program, Tile

def program():
    graph = Graph("tiny")
    graph.source("x", Tile(FP32), [3]).promote().sink("y")
    return Program(graph, {"x": [1, 2, 3]}, FabricConfig())
"""

INTERRUPTED = (130, "", "interrupted")

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")


def ctrl_c(process: int) -> None:
    """As a terminal does it: to all of the group."""
    os.killpg(process, signal.SIGINT)


def terminate(process: int) -> None:
    os.kill(process, signal.SIGTERM)


class Session:
    """A cold cache and a place for temporary files, by which the processes of a command are known."""

    def __init__(self, directory: Path, verb: str = "compare", *options: str) -> None:
        self.cache, self.temporary = cold_cache(directory / "cache"), directory / "temporary"
        self.temporary.mkdir()
        program = filed(directory / "tiny.py", PROGRAM)
        self.command = [sys.executable, "-m", "step", verb, str(program), *options]
        self.environment = {**os.environ, "STEP_CACHE": str(self.cache), "TMPDIR": str(self.temporary)}

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command, cwd=ROOT, env=self.environment, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def processes(self) -> dict[int, str]:
        """The command lines of all processes that were told of this cache."""
        mark = f"STEP_CACHE={self.cache}".encode()
        found = {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit():
                try:
                    if mark in (path / "environ").read_bytes().split(b"\0"):
                        found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                except OSError:  # it has ended
                    continue
        return {process: command for process, command in found.items() if command}  # a zombie has none

    def interrupt_when(
        self, reached: Callable[[], bool], interrupt: Callable[[int], None] = ctrl_c
    ) -> tuple[int, str, str]:
        """Start the command, and ``interrupt`` it once ``reached``; its code, stdout, and stderr but for progress."""
        started = self.start()
        try:
            while not reached():
                assert started.poll() is None, "the command ended before it got there"
                time.sleep(0.02)
            interrupt(started.pid)
            out, err = started.communicate()
        finally:
            if started.poll() is None:
                started.kill()
                started.communicate()
        return started.returncode, out, without_progress(err).strip()

    def compiles(self, name: str) -> bool:
        """Whether a C++ compiler works on the cache entry ``name``."""
        compiling = any("cc1plus" in command for command in self.processes().values())
        return compiling and any(self.cache.glob(f"{name}-*.partial"))

    def is_clean(self) -> None:
        """No process, no half entry and no temporary file is left."""
        assert self.processes() == {}
        assert [path.name for path in self.cache.iterdir() if path.name.startswith(("simulator", "runtime"))] == [
            path.name for path in self.cache.iterdir() if path.suffix == ".lock"
        ]
        assert list(self.temporary.iterdir()) == []


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path, "compare", "--no-operators")


def test_an_interrupted_build_leaves_nothing(session: Session) -> None:
    assert session.interrupt_when(lambda: session.compiles("runtime")) == INTERRUPTED
    session.is_clean()


@pytest.mark.slow
def test_a_build_whose_command_is_told_to_end(session: Session) -> None:
    """SIGTERM reaches the command alone: what it started ends all the same."""
    assert session.interrupt_when(lambda: session.compiles("runtime"), terminate) == INTERRUPTED
    session.is_clean()


def test_an_interruption_in_code_that_was_a_string(tmp_path: Path) -> None:
    """Dataclasses run such code; Python itself would end by the signal."""
    (tmp_path / "interrupted.py").write_text(
        "import step_cli\n"
        "from step.__main__ import main\n"
        "step_cli.main = lambda: exec('raise KeyboardInterrupt')\n"
        "main()\n"
    )
    command, environment = [sys.executable, "-m", "interrupted"], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_an_interruption_before_the_build_leaves_nothing(session: Session) -> None:
    assert session.interrupt_when(lambda: any(session.temporary.glob("step-verilog-*"))) == INTERRUPTED
    assert session.processes() == {}
    assert list(session.temporary.iterdir()) == []
    assert not session.cache.exists() or not list(session.cache.glob("**/*.partial"))


@pytest.mark.slow
def test_the_same_command_works_after_an_interruption(session: Session) -> None:
    session.interrupt_when(lambda: session.compiles("runtime"))
    session.is_clean()
    linking = session.interrupt_when(lambda: session.compiles("simulator") and not session.compiles("runtime"))
    assert linking == INTERRUPTED and session.processes() == {}
    assert not list(session.cache.glob("*.partial")) and not list(session.cache.glob("simulator-*[!k]"))
    done = session.start()
    out, err = done.communicate()
    assert done.returncode == 0, err
    assert "tiny" in out and "equal" in out
    assert len([path for path in session.cache.glob("simulator-*") if path.is_dir()]) == 1


@pytest.mark.slow
def test_an_interrupted_synthesis_goes_on_where_it_was(tmp_path: Path) -> None:
    session = Session(tmp_path, "synth", "--no-place")

    def entries() -> dict[str, int]:
        found = [path for path in session.cache.glob("synthesis-*") if path.is_dir() and not path.suffix]
        return {path.name: path.stat().st_mtime_ns for path in found}

    assert session.interrupt_when(lambda: bool(entries())) == INTERRUPTED
    kept = entries()
    assert session.processes() == {} and not list(session.cache.glob("*.partial")) and 0 < len(kept) < 6
    out, err = (done := session.start()).communicate()
    assert (done.returncode, without_progress(err)) == (0, "") and "tiny on an LFE5U-85F" in out
    assert len(entries()) == 6 and kept.items() <= entries().items()


@pytest.mark.slow
def test_an_interrupted_sweep_leaves_its_rows_and_no_process(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    session = Session(tmp_path, "sweep", "--over", "memory.latency=1..20000:1", "--save", str(table), "--jobs", "2")
    assert session.interrupt_when(table.exists) == INTERRUPTED
    rows = table.read_text().splitlines()
    assert 1 < len(rows) < 20_000 and len({row.count(",") for row in rows}) == 1
    while session.processes():  # the helper of multiprocessing ends by itself
        time.sleep(0.05)
    assert list(session.temporary.iterdir()) == []
