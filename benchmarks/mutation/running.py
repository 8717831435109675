"""A mutant against the tests that execute it."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutation.covering import Covered
from benchmarks.mutation.mutants import Mutant
from step.host.files import cache_directory

SURVIVED, KILLED, HANGS = "survived", "killed", "hangs"
MOST = 200.0
"""Seconds of tests that a mutant is run against at most, as measured with coverage."""

AT_LEAST, FACTOR = 120, 10
"""Seconds of processor time after which a run hangs: so many, and so many times what its tests take."""


@dataclass(frozen=True)
class Outcome:
    """What became of ``mutant``: ``by`` is the test that saw it, of ``tests`` that were run and ``left`` that were
    not."""

    mutant: str
    status: str
    by: str
    tests: int
    left: int
    seconds: float

    def __str__(self) -> str:
        rest = f", {self.left} more were not run" if self.left else ""
        return f"{self.mutant}: {self.status} by {self.by or f'{self.tests} tests{rest}'}, {self.seconds:.0f} s"


def run(mutant: Mutant, tree: Path, covered: Covered) -> Outcome:
    """``mutant`` in a copy of ``tree``, up to the first test that fails."""
    left, whole = covered.tests(mutant), 0.0
    tests: list[str] = []
    while left and (not tests or whole + covered.seconds[left[0]] <= MOST):
        whole += covered.seconds[left[0]]
        tests.append(left.pop(0))
    if not tests:
        return Outcome(str(mutant), SURVIVED, "", 0, 0, 0.0)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "tree"
        shutil.copytree(tree, copy)
        path = copy / mutant.path
        path.write_bytes(mutant.apply(path.read_bytes()))
        status, output = _pytest(tests, copy, Path(place), AT_LEAST + FACTOR * int(whole))
    found = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
    by = found[1] if found else "" if status == SURVIVED else output.strip().rpartition("\n")[2]
    return Outcome(str(mutant), status, by, len(tests), len(left), time.monotonic() - started)


def _pytest(tests: list[str], tree: Path, place: Path, seconds: int) -> tuple[str, str]:
    """The status, and what pytest printed; its cache of builds begins with links to those that there are."""
    shutil.copytree(cache_directory(), place / "cache", symlinks=True, copy_function=_linked)
    (place / "temporary").mkdir()
    (place / "tests").write_text("\n".join(tests))
    environment = {
        **os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1",
        "STEP_CACHE": str(place / "cache"), "TMPDIR": str(place / "temporary"),
    }  # fmt: skip
    hangs = ["-o", f"faulthandler_timeout={10 * seconds}", "-o", "faulthandler_exit_on_timeout=true"]
    options = ["-x", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "-rfE", *hangs]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"@{place / 'tests'}"],
        cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
    )  # fmt: skip
    if done.returncode < 0 or "Timeout (" in done.stdout:
        return HANGS, done.stdout
    return (SURVIVED if done.returncode == 0 else KILLED), done.stdout


def _linked(source: str, target: str) -> None:
    """What the cache has is replaced and never changed."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
