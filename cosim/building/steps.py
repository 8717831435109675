"""The steps of a build: tools that run, what is said of them meanwhile, and what of their logs is told."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from cosim.building.toolchain import Toolchain
from step.errors import BuildError, StepError
from step.host.builds import failure_log
from step.host.files import full_disk, has_room
from step.host.process import run_logged
from step.host.progress import Progress


def run_or_fail(
    command: list[str], directory: Path, toolchain: Toolchain, name: str, poll: Callable[[], None] | None = None
) -> None:
    """Run one step of the build of the cache entry ``name``; `BuildError` where it fails.

    ``poll``: as in `run_logged`.
    """
    log = directory / "build.log"
    environment = {**toolchain.environment, "LC_ALL": "C"}  # error texts are searched
    status = run_logged(command, log, directory=directory, environment=environment, poll=poll)
    if status != 0:
        raise failed(f"{Path(command[0]).name} failed", log, name)


def failed(what: str, log: Path, entry: str) -> StepError:
    """The error where a tool failed at the cache's ``entry``, which ``what`` says: with its first errors and where its
    ``log`` is kept, or that the disk is full."""
    if not has_room(log.parent) or "No space left on device" in log.read_text(errors="replace"):
        return full_disk(log.parent)
    kept = failure_log(entry)
    shutil.copyfile(log, kept)
    return BuildError("\n".join([f"{what}:", *first_errors(log), f"full log: {kept}"]))


def tell_compiled(objects: Path, progress: Progress) -> None:
    """Tell how many files are compiled, unless one has them all (`VM_PARALLEL_BUILDS`)."""
    sources = list(objects.rglob("*.cpp"))
    if sources and not any(each.stem.endswith("__ALL") for each in sources):
        done = sum(each.with_suffix(".o").exists() for each in sources)
        progress(f"compiling: {done:,} of {len(sources):,} files")


def first_errors(log: Path, count: int = 3) -> list[str]:
    """The first lines of ``log`` that tell of an error; where none does, the last lines."""
    lines = log.read_text(errors="replace").splitlines()
    errors = [line for line in lines if re.search(r"^%Error|^ERROR:|\berror:|^make.*\*\*\*|undefined reference", line)]
    return [f"  {line.strip()}" for line in (errors[:count] or lines[-count:])]
