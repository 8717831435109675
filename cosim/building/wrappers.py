"""Tools of PyPI by the names that FuseSoC calls, for the folders that ``step verilog`` and ``step board`` write."""

from __future__ import annotations

from pathlib import Path

WRAPPERS = Path(__file__).parent / "bin"


def write_wrappers(directory: Path) -> None:
    """Write ``bin/`` into ``directory``: `verilator` and `yosys`, for a place in front of ``PATH``."""
    (directory / "bin").mkdir()
    for tool in sorted(WRAPPERS.iterdir()):
        copy = directory / "bin" / tool.name
        copy.write_text(tool.read_text())
        copy.chmod(0o755)
