"""A mutant against the tests that see it most likely."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutation.choosing import tests
from benchmarks.mutation.mutants import Mutant
from step.host.files import cache_directory

SURVIVED, KILLED, HANGS = "survived", "killed", "hangs"
EACH, ALL = 60, 150
"""Seconds of processor time that one file of tests gets, and that a mutant gets until it has survived."""


@dataclass(frozen=True)
class MutantOutcome:
    """The outcome of ``mutant``: ``by`` is the test that saw it, of ``files`` of tests that were run in ``seconds`` of
    processor time; one that did not end is in ``hung``."""

    mutant: str
    status: str
    by: str
    files: int
    seconds: float
    hung: tuple[str, ...] = ()

    def __str__(self) -> str:
        rest = f", without an end: {', '.join(self.hung)}" if self.hung else ""
        return f"{self.mutant}: {self.status} by {self.by or f'{self.files} files'}{rest}, {self.seconds:.0f} s"


def run(mutant: Mutant, tree: Path) -> MutantOutcome:
    """``mutant`` in a copy of ``tree``, up to the first test that fails.

    It hangs if the first two files of tests, which are about it, do not come to an end.
    """
    hung: list[str] = []
    begun = _seconds()

    def outcome(status: str, by: str = "") -> MutantOutcome:
        return MutantOutcome(str(mutant), status, by, count, _seconds() - begun, tuple(hung))

    with _copied(tree, mutant) as place:
        for count, chosen in enumerate(tests(mutant, tree), 1):
            code, output = _pytest(chosen, place)
            if code < 0 or "Timeout (" in output:
                hung.append(chosen[0])
                if len(hung) == count == 2:
                    return outcome(HANGS)
            elif code in (1, 2):
                found = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
                return outcome(KILLED, found[1] if found else output.strip().rpartition("\n")[2])
            if _seconds() - begun > ALL:
                break
    return outcome(SURVIVED)


@contextmanager
def _copied(tree: Path, mutant: Mutant) -> Iterator[Path]:
    """A place with a changed ``tree``, and a cache of builds that begins with links to those that there are."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        shutil.copytree(tree, place / "tree")
        path = place / "tree" / mutant.path
        path.write_bytes(mutant.apply(path.read_bytes()))
        shutil.copytree(cache_directory(), place / "cache", symlinks=True, copy_function=_linked)
        (place / "temporary").mkdir()
        yield place


def _pytest(chosen: tuple[str, ...], place: Path) -> tuple[int, str]:
    """The exit code of a file of tests, and what was printed."""
    environment = {
        **os.environ, "PYTHONPATH": str(place / "tree"), "PYTHONDONTWRITEBYTECODE": "1",
        "STEP_CACHE": str(place / "cache"), "TMPDIR": str(place / "temporary"),
    }  # fmt: skip
    hangs = ["-o", f"faulthandler_timeout={10 * EACH}", "-o", "faulthandler_exit_on_timeout=true"]
    options = ["-x", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "-rfE", *hangs]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *chosen],
        cwd=place / "tree", env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (EACH, EACH)),
    )  # fmt: skip
    return done.returncode, done.stdout


def _seconds() -> float:
    """Processor time of all processes that ended, those that tests started included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _linked(source: str, target: str) -> None:
    """A link: files of the cache are replaced and never changed."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
