"""The memory in C++: compiled once, kept in the cache."""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from pathlib import Path

from sim_published.hbm import PythonHbm
from sim_published.profile import Hbm
from step.errors import EnvironmentProblem, SettingError
from step.host.files import cache_directory
from step.host.library import cached, compiler

SOURCE = Path(__file__).with_name("hbm.cpp")
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared")


class CompiledHbm:
    """The same as `PythonHbm`."""

    def __init__(self, hbm: Hbm, dispatch: int, ports: int) -> None:
        self._library = _library()
        self._hbm = ctypes.c_void_p(self._library.hbm_start(hbm.channels, hbm.interval, hbm.delay, dispatch, ports))
        self._port = ctypes.c_int64()
        self._at = ctypes.byref(self._port)

    def __del__(self) -> None:
        if hasattr(self, "_hbm"):
            self._library.hbm_end(self._hbm)

    def issue(self, port: int, start: int, requests: int) -> None:
        """See `PythonHbm.issue`."""
        self._library.hbm_issue(self._hbm, port, start, requests)

    def advance(self, limit: int) -> tuple[int, int] | None:
        """See `PythonHbm.advance`."""
        time = self._library.hbm_advance(self._hbm, limit, self._at)
        return None if time < 0 else (self._port.value, time)

    def pop(self) -> None:
        """See `PythonHbm.pop`."""
        self._library.hbm_pop(self._hbm)


def fastest(hbm: Hbm, dispatch: int, ports: int) -> tuple[PythonHbm | CompiledHbm, str | None]:
    """Compiled memory, or that in Python and why it could not be compiled."""
    try:
        return CompiledHbm(hbm, dispatch, ports), None
    except SettingError:
        raise
    except EnvironmentProblem as problem:
        return PythonHbm(hbm, dispatch, ports), str(problem)


@cache
def _library() -> ctypes.CDLL:
    """The library of the cache, made where it is missing; raises `EnvironmentProblem` where it can not be."""
    text = SOURCE.read_text()
    identity = f"{platform.system()} {platform.machine()} {FLAGS} {text}"
    library = cached(cache_directory() / "published", identity, text, [compiler(), *FLAGS], SOURCE.name, 1)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    for name, result, arguments in (
        ("start", pointer, [number] * 5),
        ("end", None, [pointer]),
        ("issue", None, [pointer, number, number, number]),
        ("advance", number, [pointer, number, ctypes.POINTER(number)]),
        ("pop", None, [pointer]),
    ):
        function = getattr(library, f"hbm_{name}")
        function.restype, function.argtypes = result, arguments
    return library
