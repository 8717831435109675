"""Tools of PyPI by the names that FuseSoC calls, for the folders that ``step verilog`` and ``step board`` write."""

from __future__ import annotations

from pathlib import Path

from step.host.texts import copied, write_files

WRAPPERS = Path(__file__).parent / "bin"


def write_wrappers(directory: Path) -> None:
    """Write ``bin/`` into ``directory``: `verilator` and `yosys`, for a place in front of ``PATH``."""
    files = copied(WRAPPERS, "bin")
    write_files(directory, files)
    for name in files:
        (directory / name).chmod(0o755)
