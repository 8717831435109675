"""Libraries in C++: compiled once, kept in the cache, and loaded.

An entry of the cache is a library and its digest. Each is put there as a whole, by one process at a time; what does not
have its digest is never loaded, which would kill the process, but made again.

    python -m step.host.library PATH WHAT COMMAND ...

makes one of the text on its standard input: a process that goes on when the one that wants the library has ended.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from step.errors import EnvironmentProblem
from step.host.files import locked, write_atomically
from step.host.progress import Progress, silent


class NoLibrary(EnvironmentProblem):
    """The library is not there and can not be made."""


class NotYet(NoLibrary):
    """The library is being made by ``builder``, a process behind this one."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(f"{builder.what} was not compiled yet; later runs have it")
        self.builder = builder

    def __str__(self) -> str:
        return self.builder.failure or super().__str__()


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


def waits() -> bool:
    """Whether the environment has ``STEP_BACKGROUND=0``: nothing is made behind a process, which waits instead."""
    return os.environ.get("STEP_BACKGROUND") == "0"


def cached(
    folder: Path,
    identity: str,
    text: str,
    command: Sequence[str],
    what: str,
    seconds: int,
    progress: Progress = silent,
    wait: bool = True,
) -> ctypes.CDLL:
    """The library that ``command``, a compiler and its options, makes of ``text``; once in ``folder``.

    ``identity``: all that goes into it but the compiler, which has to be the same. ``progress`` is told of ``what`` is
    made in some ``seconds``. Raises `NoLibrary`; without ``wait`` `NotYet` where it is not there.
    """
    key = hashlib.sha256(f"{identity} {version(command[0])}".encode()).hexdigest()[:32]
    path = folder / f"{key}.so"
    found = whole(path)
    if found is None and not wait and not waits():
        builder = BUILDERS.get(path)
        if builder is None or builder.over:
            builder = BUILDERS[path] = Builder(path, text, command, what)
        raise NotYet(builder)
    if found is None:
        progress(f"compiling {what}, once: some {seconds} s")
        make(path, text, command, what)
        found = whole(path)
    if found is None:
        raise NoLibrary(f"what {command[0]} made of {what} can not be loaded")
    return found


class Builder:
    """A process that makes the library ``path``, of ``what``, and may outlive this one (see `compile_to`)."""

    def __init__(self, path: Path, text: str, command: Sequence[str], what: str) -> None:
        self.what, self._path = what, path
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the process)
        own = [sys.executable, "-m", "step.host.library", str(path), what, *command]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with tempfile.TemporaryFile("w+") as source:
            source.write(text)
            source.seek(0)
            self._process = subprocess.Popen(
                own, stdin=source, stdout=self._said, stderr=self._said, env=environment, start_new_session=True
            )

    @property
    def over(self) -> bool:
        """Whether the process has ended well."""
        return self._process.poll() == 0

    @property
    def made(self) -> bool:
        """Whether the library is there, whoever made it."""
        return _digest(self._path).is_file()

    @property
    def failure(self) -> str | None:
        """The reason for which there will be no library; None as long as there may be one."""
        if not self._process.poll():
            return None
        self._said.seek(0)
        return self._said.read().strip() or f"{self.what} can not be compiled: exit {self._process.returncode}"


BUILDERS: dict[Path, Builder] = {}
"""The builders of this process, by the libraries that they make."""


def make(path: Path, text: str, command: Sequence[str], what: str) -> None:
    """`compile_to`, unless another process was faster, for which this one waits."""
    with _keeping(path, what), locked(path.parent.with_name(f"{path.parent.name}-{path.stem}.lock")):
        if whole(path) is None:
            compile_to(path, text, command, what)


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
        with _keeping(path, what):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
            write_atomically(_digest(path), hashlib.sha256(content).hexdigest().encode())


@contextmanager
def _keeping(path: Path, what: str) -> Iterator[None]:
    """A cache that can not be written has no library."""
    try:
        yield
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


def main(path: str, what: str, *command: str) -> None:
    """Make the library ``path`` of the text on the standard input, with the ``command``."""
    try:
        make(Path(path), sys.stdin.read(), command, what)
    except NoLibrary as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
