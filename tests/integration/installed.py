"""A Python with the packages of `tests/outside` installed: one process, which all that asks it shares."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

OUTSIDE = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "outside")}

SERVER = """
import contextlib, io, json, os, sys, traceback
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for line in sys.stdin:
    code, sys.argv[:] = json.loads(line)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oe")
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exec(code, {"__name__": "asked"})
        except SystemExit as stopped:
            status = stopped.code
        except BaseException:
            traceback.print_exc()
            status = 1
    print(json.dumps((status, *(each.buffer.getvalue().decode() for each in (out, err)))), file=answers, flush=True)
"""


@cache
def server() -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=OUTSIDE
    )
    atexit.register(started.kill)
    return started


def asked(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What ``code`` prints, and how it ends, there."""
    process = server()
    assert process.stdin is not None and process.stdout is not None
    print(json.dumps((code, arguments)), file=process.stdin, flush=True)
    return subprocess.CompletedProcess([code, *arguments], *json.loads(process.stdout.readline()))


def step(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line there."""
    return asked("import step_cli; step_cli.main()", "step", *arguments)


def told(code: str) -> str:
    """What ``code`` prints there, which ends well."""
    done = asked(code)
    assert done.returncode == 0, done.stderr
    return done.stdout
