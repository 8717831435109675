"""C of this folder, as libraries."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .errors import BoardError
from .folder import FOLDER
from .transport import told

HERE = FOLDER / "host"


def compiled(fabric: str) -> ctypes.CDLL:
    """The driver with the tables of this folder: another one, with another state, at each call."""
    tables = [f'-DHEADER="{fabric}.h"', f"-DDESIGN={fabric}", f"-DIMAGES={fabric.upper()}_IMAGES"]
    paths = ["-include", str(HERE / "reached.h"), f"-I{FOLDER / 'sw'}"]
    return _library(
        "the driver", [*tables, *paths, str(HERE / "reached.c"), *map(str, sorted((FOLDER / "sw").glob("*.c")))]
    )


@functools.cache
def device_words() -> ctypes.CDLL:
    """Accesses of mapped devices (``words.c``)."""
    library = _library("accesses of devices", [str(HERE / "words.c")])
    library.device_read32.restype = ctypes.c_uint32
    return library


def _library(what: str, arguments: list[str]) -> ctypes.CDLL:
    """A library in a folder of its own that goes at once."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise BoardError("there is no C compiler: install gcc, or name another one in the variable CC")
    with tempfile.TemporaryDirectory(prefix="step-host-") as made:
        library = Path(made) / "library.so"
        command = [compiler, "-std=c99", "-O2", "-fPIC", "-shared", *arguments, "-o", str(library)]
        with told(f"the compiler {compiler}"):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BoardError(f"{compiler} does not compile {what}:\n{done.stderr}")
        with told(f"{what} in {tempfile.gettempdir()}"):
            return ctypes.CDLL(str(library))
