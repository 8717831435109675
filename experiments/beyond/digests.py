"""What the results of a study depend on."""

from __future__ import annotations

from pathlib import Path

from experiments.fabric import points
from experiments.fabric.record import files_of_rooms
from experiments.rows import digest


def sources(module: str, study: str) -> str:
    """A digest of the files that decide the results of a ``study``, whose points the file ``module`` has."""
    return digest(
        path for path in (*files_of_rooms(), Path(points.__file__), Path(module)) if path.suffix in (".py", ".hpp")
    )
