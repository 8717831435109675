"""The engine as a library: compiled once for a text, kept in the cache, or carried by a wheel."""

from __future__ import annotations

import ctypes
import hashlib
import platform
from functools import cache
from pathlib import Path

from sim_approx.compiled.handles import CALLBACK
from step.host import library
from step.host.files import cache_directory

CPP = Path(__file__).parent / "cpp"
SHIPPED = Path(__file__).parent / "shipped"
FLAGS = ("-std=c++17", "-O2", "-fno-tree-slp-vectorize", "-fPIC", "-shared", "-fno-plt", "-pipe")
"""Without vectors of two words: see ``cpp/tokens.hpp``."""


def library_for(text: str, mask_words: int) -> ctypes.CDLL:
    """The engine with the rules of ``text``, for sets of ports of so many 64-bit words; raises `NoLibrary`."""
    return _loaded(text, mask_words, library.compiler(), str(cache_directory()))


@cache
def _loaded(text: str, mask_words: int, compiler: str, directory: str) -> ctypes.CDLL:
    name = f"{content_hash(text, mask_words)}.so"
    found = library.whole(SHIPPED / name)
    if found is None:
        found = library.cached(Path(directory) / "engine", name, text, _command(mask_words, compiler), "the engine")
    return _declare(found)


def content_hash(text: str, mask_words: int) -> str:
    """A name for all that goes into a library but the compiler."""
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} {FLAGS} {mask_words}\n".encode())
    for path in sorted(CPP.iterdir()):
        digest.update(path.read_bytes())
    digest.update(text.encode())
    return digest.hexdigest()[:32]


def compile_to(path: Path, text: str, mask_words: int, compiler: str) -> None:
    """Compile ``text`` to the library ``path``, which is there as a whole or not at all; raises `NoLibrary`."""
    library.compile_to(path, text, _command(mask_words, compiler), "the engine")


def _command(mask_words: int, compiler: str) -> list[str]:
    return [compiler, *FLAGS, f"-DMASK_WORDS={mask_words}", f"-I{CPP}"]


def _declare(engine: ctypes.CDLL) -> ctypes.CDLL:
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
        function = getattr(engine, f"step_{name}")
        function.restype, function.argtypes = result, arguments
    return engine
