"""Runs the command line in this process, for tests of what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from step_cli import console, main

ROOT = Path(__file__).parents[1]
PROGRAMS = Path("tests/cli/programs")


class Result(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    def ok(self) -> str:
        """What it printed on stdout, where it went well without a word on stderr."""
        assert (self.code, self.err) == (0, ""), self.err
        return self.out

    def failed(self, code: int = 1) -> str:
        """What it said on stderr, where it ended with ``code`` and printed nothing."""
        assert (self.code, self.out) == (code, ""), self.err
        return self.err


Step = Callable[..., Result]


def in_a_process(*arguments: object, **environment: str) -> Result:
    """``step`` in a process of its own, in the working directory, with some variables of the environment."""
    done = subprocess.run(
        [sys.executable, "-m", "step", *map(str, arguments)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def program(name: str) -> Any:
    """A fixture: the file of this program."""
    return pytest.fixture(name=name)(lambda: PROGRAMS / f"{name}.py")


def commanding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Step:
    """A function that runs ``step`` with its arguments, from the project's folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(console, "FIRST", 1e6)  # a slow machine is no reason to talk

    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["step", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return Result(stopped.value.code, out, err)

    return run
