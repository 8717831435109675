"""The files of a design as other tools want them listed."""

from __future__ import annotations

from collections.abc import Sequence

from hw.verilog.core import SCRIPTS, BenchFiles, core_files

FILE_LIST = "fabric.f"
CORE = "fabric.core"
CONSTRAINTS = "fabric.sdc"

LISTS = (FILE_LIST, CORE, CONSTRAINTS, *SCRIPTS)

CONSTRAINTS_TEXT = """\
# The clock of the fabric, at 100 MHz: set the period that you want, in ns.
create_clock -name clk -period 10.0 [get_ports clk]
"""


def file_list_text(sources: Sequence[str]) -> str:
    """A file list, for options such as ``-F``; its names are relative to where it lies."""
    return "".join(f"{source}\n" for source in sources)


def list_files(
    module: str, sources: Sequence[str], waivers: Sequence[str], bench: BenchFiles | None = None
) -> dict[str, str]:
    """All of them for the top ``module`` of a folder, by name."""
    core = core_files(CORE, "fabric", module, sources, waivers, {CONSTRAINTS: "SDC"}, bench)
    return {FILE_LIST: file_list_text(sources), CONSTRAINTS: CONSTRAINTS_TEXT, **core}
