"""Registers of a board: area and clock on an ECP5, with three seeds of place and route (docs/axi.md).

`python benchmarks/board_area.py examples/softmax.py`: the slave, run control and who waits for whom of that program.
"""

from __future__ import annotations

import sys

from cosim.synthesis.families.ecp5 import Ecp5
from cosim.synthesis.flow import Flow
from cosim.synthesis.jobs import Stop
from hw.fabric import elaborate
from hw.registers.run_control import RunControl
from hw.registers.wrapper import board_design
from hw.verilog.convert import ModuleLibrary, ModuleText
from hw.verilog.structure import Structure
from step.lowering.bus import BusConfig
from step.lowering.netlist import lower
from step.programs.program import load_program

SEEDS = 3


def without_program(top: Structure) -> Structure:
    """Registers and run control as a design: what joins them to the program are its ports."""
    instances = [each for each in top.instances if each.name != "axi"]
    ports = {name: port for name, port in top.ports.items() if any(name in each.connections for each in instances)}
    for name, width in top.wires.items():
        ports[name] = "output" if name.startswith(("set_", "run_")) else "input", width
    read = {str(net) for each in instances for net in each.connections.values()}
    streams = {name: port for name, port in top.ports.items() if any(name in net for net in read)}
    return Structure(f"{top.name}_registers_alone", instances, ports=streams | ports)


def main() -> None:
    """A table of what each part takes, and the clock of the slave with run control."""
    program = load_program(sys.argv[1])
    netlist = lower(program.graph, program.fabric)
    made, family = board_design(netlist, BusConfig(bytes=netlist.fabric.memory.beat_bytes)), Ecp5(seeds=SEEDS)
    sizes = len(netlist.units), len(netlist.channels), len(made.board.images)
    print("{} units, {} channels, {} images".format(*sizes), flush=True)
    (waits,) = (each.component for each in elaborate(netlist, waits=True).structure.instances if each.name == "waits")
    control, library = RunControl(), ModuleLibrary()
    library.require(control)
    library.require(waits)
    (slave,) = (each.component.module_name for each in made.top.instances if each.name == "registers")
    texts = library.texts() | {slave: ModuleText(slave, made.files[f"{slave}.sv"], "registers", "")}
    flow, stop = Flow(texts, family.check(), family), Stop()
    parts = {"slave": slave, "run control": control.module_name, "who waits for whom": waits.module_name}
    for what, name in parts.items():
        print(f"{what}: {flow.area(name, stop)}", flush=True)
    placed = flow.netlist(without_program(made.top), stop)
    print("slave and run control, MHz:", [round(placed.time(run, stop).mhz, 1) for run in family.runs], flush=True)


if __name__ == "__main__":
    main()
