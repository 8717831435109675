"""Files about registers for others: a C header, IP-XACT, and pages for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hw.registers.block import compiled, peakrdl, rdl_text
from step.lowering.registers import Register


def write_register_files(name: str, registers: Sequence[Register], directory: Path) -> None:
    """Write ``NAME.rdl``, ``NAME.h``, ``NAME.xml`` (IP-XACT) and the folder ``html`` into ``directory``.

    Raises `EnvironmentProblem` for a part of PeakRDL that is not installed.
    """
    header = peakrdl("peakrdl_cheader.exporter", "peakrdl-cheader").CHeaderExporter()
    ipxact = peakrdl("peakrdl_ipxact", "peakrdl-ipxact").IPXACTExporter()
    html = peakrdl("peakrdl_html", "peakrdl-html").HTMLExporter()
    (directory / f"{name}.rdl").write_text(rdl_text(name, registers))
    top = compiled(directory / f"{name}.rdl").top
    header.export(top, str(directory / f"{name}.h"))
    ipxact.export(top, str(directory / f"{name}.xml"))
    html.export(top, str(directory / "html"))
