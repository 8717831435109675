"""The engine as a library: compiled once for a text, kept in the cache, and loaded.

An entry of the cache is a library and its digest; it is put there as a whole, so processes that compile at once do
not disturb each other, and what does not have its digest is made again.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from sim_approx.compiled.functions import CALLBACK
from step.errors import EnvironmentProblem
from step.host.files import cache_directory, write_atomically

CPP = Path(__file__).parent / "cpp"
SHIPPED = Path(__file__).parent / "shipped"
FLAGS = ("-std=c++17", "-O2", "-fno-tree-slp-vectorize", "-fPIC", "-shared", "-fno-plt", "-pipe")
"""Without vectors of two words: see ``cpp/tokens.hpp``."""


class NoLibrary(EnvironmentProblem):
    """The library is not there and can not be made: the Python engine has to run."""


def library_for(text: str, mask_words: int) -> ctypes.CDLL:
    """The engine with the rules of ``text``, for sets of ports of so many 64-bit words; raises `NoLibrary`."""
    return _loaded(text, mask_words, os.environ.get("CXX", "g++"), str(cache_directory()))


@cache
def _loaded(text: str, mask_words: int, compiler: str, directory: str) -> ctypes.CDLL:
    name = f"{content_hash(text, mask_words)}.so"
    shipped = _whole(SHIPPED / name)
    if shipped is not None:
        return shipped
    key = hashlib.sha256(f"{name} {_version(compiler)}".encode()).hexdigest()[:32]
    kept = Path(directory) / "engine" / f"{key}.so"
    found = _whole(kept)
    if found is None:
        compile_to(kept, text, mask_words, compiler)
        found = _whole(kept)
    if found is None:
        raise NoLibrary(f"what {compiler} made of the compiled engine can not be loaded")
    return found


def content_hash(text: str, mask_words: int) -> str:
    """A name for all that goes into a library but the compiler."""
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} {FLAGS} {mask_words}\n".encode())
    for path in sorted(CPP.iterdir()):
        digest.update(path.read_bytes())
    digest.update(text.encode())
    return digest.hexdigest()[:32]


def compile_to(path: Path, text: str, mask_words: int, compiler: str) -> None:
    """Compile ``text`` to the library ``path``, which is there as a whole or not at all; raises `NoLibrary`."""
    with _scratch() as scratch:
        source, library = scratch / "rules.cpp", scratch / "engine.so"
        source.write_text(text)
        command = [compiler, *FLAGS, f"-DMASK_WORDS={mask_words}", f"-I{CPP}", str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise NoLibrary(
                f"{compiler} can not compile the engine: {lines[0] if lines else f'exit {done.returncode}'}"
            )
        content = library.read_bytes()
        try:
            write_atomically(path, content)
            write_atomically(_digest(path), hashlib.sha256(content).hexdigest().encode())
        except OSError as error:
            raise NoLibrary(f"the compiled engine can not be kept in {path.parent}: {error.strerror}") from None


def _whole(path: Path) -> ctypes.CDLL | None:
    """The library at ``path``, if it is there as it was made."""
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() != _digest(path).read_text():
            return None
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    return _declare(library)


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    run, number, count = ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
    for name, result, arguments in (
        ("start", run, (run, CALLBACK, number)),
        ("run", number, (run, number, number)),
        ("now", number, (run,)),
        ("entered", number, (run,)),
        ("end", None, (run,)),
        ("report", run, (run, count)),
        ("events", run, (run, count)),
        ("leaves", run, (run, count)),
        ("seen", run, (run, count)),
        ("forget_seen", None, (run,)),
    ):
        function = getattr(library, f"step_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def _digest(path: Path) -> Path:
    return path.with_suffix(".sha256")


@cache
def _version(compiler: str) -> str:
    """What ``compiler`` says that it is; raises `NoLibrary` where there is none."""
    if shutil.which(compiler) is None:
        raise NoLibrary(f"there is no C++ compiler {compiler}; install g++, or set CXX")
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="step-engine-") as directory:
        yield Path(directory)
