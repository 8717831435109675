"""Make the library that a wheel carries, before the wheel is built: python -m sim_approx.compiled.ship

It has the rules of the project and sets of up to 64 ports, and is used where it fits: with other rules, another engine,
another system or another processor it has another name, and one that can not be loaded is passed over.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from sim_approx.compiled import library
from sim_approx.compiled.text import rules_for
from step.host.library import compiler


def ship(folder: Path) -> Path:
    """Put the library of this version into ``folder``, and nothing else; raises `NoLibrary`."""
    text = rules_for(()).text
    shutil.rmtree(folder, ignore_errors=True)
    path = folder / f"{library.content_hash(text, 1)}.so"
    library.compile_to(path, text, 1, compiler())
    return path


if __name__ == "__main__":
    sys.stdout.write(f"{ship(library.SHIPPED)}\n")
