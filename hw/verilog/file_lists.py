"""The files of a design as other tools want them listed."""

from __future__ import annotations

from collections.abc import Sequence

FILE_LIST = "fabric.f"
CORE = "fabric.core"
CONSTRAINTS = "fabric.sdc"

CONSTRAINTS_TEXT = """\
# The clock of the fabric, at 100 MHz: set the period that you want, in ns.
create_clock -name clk -period 10.0 [get_ports clk]
"""


def file_list_text(sources: Sequence[str]) -> str:
    """A file list, for options such as ``-F``; its names are relative to where it lies."""
    return "".join(f"{source}\n" for source in sources)


def core_text(module: str, sources: Sequence[str], waivers: Sequence[str]) -> str:
    """A FuseSoC core with the sources; its target ``lint`` is Verilator's."""
    files = "".join(f"      - {source}\n" for source in sources)
    waived = "".join(f"      - {waiver}\n" for waiver in waivers)
    return f"""\
CAPI=2:
name: step:fabric:{module}:0

filesets:
  rtl:
    files:
{files}    file_type: systemVerilogSource
  waivers:
    files:
{waived}    file_type: vlt
  constraints:
    files:
      - {CONSTRAINTS}
    file_type: SDC

targets:
  default: &default
    filesets: [rtl, constraints]
    toplevel: {module}
  lint:
    <<: *default
    filesets: [waivers, rtl]
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
"""
