"""What the results of a study depend on."""

from __future__ import annotations

from pathlib import Path

from experiments.fabric import points
from experiments.fabric.record import ROOMS
from experiments.rows import ROOT, digest


def sources(module: str, study: str) -> str:
    """A digest of the files that decide the results of a ``study``, whose points the file ``module`` has."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*"))]
    return digest(path for path in (*paths, Path(points.__file__), Path(module)) if path.suffix in (".py", ".hpp"))
