"""The FuseSoC core of a board's folder."""

from __future__ import annotations

from collections.abc import Sequence


def core_text(module: str, name: str, rtl: Sequence[str], waivers: Sequence[str]) -> str:
    """A core with the targets ``sim`` (Verilator), ``sim_icarus``, ``lint`` and ``synth`` (Yosys, for an ECP5).

    ``module`` is the top module, ``name`` that of the fabric.
    """

    def listed(files: Sequence[str], copied: bool = False) -> str:
        return "".join(
            f"      - {each}: {{copyto: {each.rpartition('/')[2]}}}\n" if copied else f"      - {each}\n"
            for each in files
        )

    data = [f"data/{each}.hex" for each in ("memory", "expected", "mask")]
    return f"""\
CAPI=2:
name: step:board:{module}:0
description: A program as hardware, with AXI4 masters and AXI4-Lite registers

filesets:
  rtl:
    files:
{listed(rtl)}    file_type: systemVerilogSource
  bench:
    files:
{listed(["bench/step_axi_memory.sv", f"bench/{name}_bench.sv"])}    file_type: systemVerilogSource
  data:
    files:
{listed(data, copied=True)}    file_type: user
  waivers:
    files:
{listed(waivers)}    file_type: vlt
  synthesis:
    files:
{listed(["synth/synth.tcl", "synth/synth.ys"], copied=True)}    file_type: user

targets:
  default: &default
    filesets: [rtl]
    toplevel: {module}
  sim: &sim
    filesets: [rtl, bench, data]
    toplevel: {name}_bench
    flow: sim
    flow_options:
      tool: verilator
      mode: binary
      verilator_options: [--timing, -Wno-fatal, -Wno-lint, -Wno-style, -O3, -j, "2"]
  sim_icarus:
    <<: *sim
    flow_options:
      tool: icarus
      iverilog_options: [-g2012]
  lint:
    <<: *default
    filesets: [waivers, rtl]
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
  synth:
    <<: *default
    filesets: [rtl, synthesis]
    flow: generic
    flow_options:
      tool: yosys
      arch: ecp5
      output_format: json
      yosys_template: synth.tcl
"""


def yosys_script(module: str, rtl: Sequence[str], core: str) -> dict[str, str]:
    """``synth.ys``, which maps the board to an ECP5, and the ``synth.tcl`` that calls it.

    FuseSoC puts the sources below ``src/`` and the name of the ``core``.
    """
    reads = "".join(f"read_verilog -sv src/{core}/{each}\n" for each in rtl)
    script = f"{reads}synth_ecp5 -top {module} -json {module}.json\ntee -o area.txt stat\n"
    return {"synth.ys": script, "synth.tcl": "yosys script synth.ys\n"}
