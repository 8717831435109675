"""The driver in C, as a library."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .errors import BoardError
from .folder import FOLDER


def compiled(fabric: str) -> ctypes.CDLL:
    """The driver with the tables of this folder, as a library in a folder of its own that goes at once."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise BoardError("there is no C compiler: install gcc, or name another one in the variable CC")
    driver = FOLDER / "sw"
    with tempfile.TemporaryDirectory(prefix="step-host-") as made:
        library = Path(made) / "driver.so"
        tables = [f'-DHEADER="{fabric}.h"', f"-DDESIGN={fabric}", f"-DIMAGES={fabric.upper()}_IMAGES"]
        paths = ["-include", str(FOLDER / "host" / "reached.h"), f"-I{driver}"]
        sources = [str(FOLDER / "host" / "reached.c"), *map(str, sorted(driver.glob("*.c")))]
        command = [compiler, "-std=c99", "-O2", "-fPIC", "-shared", *tables, *paths, *sources, "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BoardError(f"{compiler} does not compile the driver:\n{done.stderr}")
        return ctypes.CDLL(str(library))
