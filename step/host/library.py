"""Libraries in C++: compiled once, kept in the cache, and loaded.

An entry of the cache is a library and its digest. Each is put there as a whole, so processes that compile at once do
not disturb each other; what does not have its digest is never loaded, which would kill the process, but made again.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from step.errors import EnvironmentProblem
from step.host.files import write_atomically
from step.host.progress import Progress, silent


class NoLibrary(EnvironmentProblem):
    """The library is not there and can not be made."""


def compiler() -> str:
    """``CXX``, or g++."""
    return os.environ.get("CXX") or "g++"


def optimization(long: str, short: str) -> str:
    """The options for ``long`` runs, or, where the environment has ``STEP_OPTIMIZE=0``, those for ``short`` ones."""
    return short if os.environ.get("STEP_OPTIMIZE") == "0" else long


@cache
def version(compiler: str) -> str:
    """Version that ``compiler`` tells; raises `NoLibrary` where there is none."""
    if shutil.which(compiler) is None:
        raise NoLibrary(f"there is no C++ compiler {compiler}; install g++, or set CXX")
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout


def cached(
    folder: Path, identity: str, text: str, command: Sequence[str], what: str, progress: Progress = silent
) -> ctypes.CDLL:
    """The library that ``command``, a compiler and its options, makes of ``text``; once in ``folder``.

    ``identity``: all that goes into it but the compiler, which has to be the same. Raises `NoLibrary`, about ``what``.
    """
    key = hashlib.sha256(f"{identity} {version(command[0])}".encode()).hexdigest()[:32]
    path = folder / f"{key}.so"
    found = whole(path)
    if found is None:
        progress(f"compiling {what}, once: half a minute")
        compile_to(path, text, command, what)
        found = whole(path)
    if found is None:
        raise NoLibrary(f"what {command[0]} made of {what} can not be loaded")
    return found


def compile_to(path: Path, text: str, command: Sequence[str], what: str) -> None:
    """Compile ``text`` to the library ``path``, which is there as a whole or not at all; raises `NoLibrary`."""
    with tempfile.TemporaryDirectory(prefix="step-library-") as scratch:
        source, library = Path(scratch) / "source.cpp", Path(scratch) / "library.so"
        source.write_text(text)
        done = subprocess.run([*command, str(source), "-o", str(library)], capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise NoLibrary(f"{command[0]} can not compile {what}: {lines[0] if lines else f'exit {done.returncode}'}")
        content = library.read_bytes()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
            write_atomically(_digest(path), hashlib.sha256(content).hexdigest().encode())
        except OSError as error:
            raise NoLibrary(f"{what} can not be kept in {path.parent}: {error.strerror}") from None


def whole(path: Path) -> ctypes.CDLL | None:
    """The library at ``path``, if it is there as it was made."""
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() != _digest(path).read_text():
            return None
        return ctypes.CDLL(str(path))
    except OSError:
        return None


def _digest(path: Path) -> Path:
    return path.with_suffix(".sha256")
