"""Registers behind a choice among words of block RAM of an ECP5: they move before it, into the memories, so that a word
does not wait for memory, choice and wires in one cycle. What chooses gets registers of its own.

All of these are written in every cycle and are 0 at power-on; so is a choice among zeros.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import NamedTuple

from cosim.synthesis.families.registers import Bit, Cell, Control, Registers, inputs_of

CHOICES = "LUT4", "PFUMX", "L6MUX21"
"""Cells that a choice is made of."""


class Source(NamedTuple):
    """A net that a choice depends on, as it comes in at a ``port`` of a ``cell``."""

    net: Bit
    cell: Cell
    port: str


def move_before_choices(module: Cell) -> None:
    """Move those of a ``module`` of Yosys' JSON that alone, with others of one clock, read all words of a port."""
    choices = _Choices(module)
    for clock in dict.fromkeys(port.clock for port in choices.ports):
        choices.move(Control(clock, "1"))


class _Choices(Registers):
    """The registers of a ``module``, and what they have where it is chosen."""

    def __init__(self, module: Cell) -> None:
        super().__init__(module)
        self.makers = {cell["connections"]["Z"][0]: cell for kind in CHOICES for cell in self.cells_of(kind)}
        ports = (port for cell in self.cells_of("DP16KD") for port in self.word_ports(cell))
        self.ports = [port for port in ports if any(self.readers[bit] for bit in port.nets.values())]

    def move(self, control: Control) -> None:
        """Move the registers with this ``control`` before choices, until those that are left read all words alone."""
        inputs = {name: bit for bit, name in self.by_input.items() if self.control(name) == control}
        found = {name: self.sources(bit) for name, bit in inputs.items() if not self._at_power_on(bit)}
        ports = [port for port in self.ports if port.clock == control.clock]
        words = {bit for port in self.ports for bit in port.nets.values()}
        before = None
        while before != (before := (len(ports), len(found))):
            uses = Counter(source.net for sources in found.values() for source in sources)
            ports = [port for port in ports if all(self.readers[bit] == uses[bit] for bit in port.nets.values())]
            early = {bit for port in ports for bit in port.nets.values()}
            nets = {name: {source.net for source in sources} for name, sources in found.items()}
            found = {
                name: sources for name, sources in found.items() if nets[name] & early and nets[name] & words <= early
            }
        for port in ports:
            port.hold(control.enable)
        self._replace(found, early)

    def sources(self, net: Bit) -> list[Source]:
        """What ``net`` is chosen from, or none."""
        return [
            source
            for port, bit in self._chosen(net)
            if isinstance(bit, int)
            for source in self.sources(bit) or [Source(bit, self.makers[net], port)]
        ]

    def _chosen(self, net: Bit) -> list[tuple[str, Bit]]:
        """Ports and nets of the choice that makes ``net``, if nothing else reads this, and there is something to it."""
        inputs = list(inputs_of(self.makers[net])) if net in self.makers and self.readers[net] == 1 else []
        return inputs if any(isinstance(bit, int) for _, bit in inputs) else []

    def _at_power_on(self, net: Bit) -> bool:
        """What ``net`` is if all that it is chosen from are 0."""
        if not (inputs := self._chosen(net)):
            return net == "1"
        value = {port: self._at_power_on(bit) for port, bit in inputs}
        cell = self.makers[net]
        if cell["type"] == "PFUMX":
            return value["ALUT" if value["C0"] else "BLUT"]
        if cell["type"] == "L6MUX21":
            return value["D1" if value["SD"] else "D0"]
        place = sum(value[port] << at for at, port in enumerate("ABCD"))
        return str(cell["parameters"]["INIT"])[-1 - place] == "1"

    def _replace(self, found: dict[str, list[Source]], early: set[Bit]) -> None:
        """Let choices make what the registers that are ``found`` had, by what is ``early`` and registers for others."""
        nets = (bit for cell in self.cells.values() for bits in cell["connections"].values() for bit in bits)
        fresh = count(1 + max(bit for bit in nets if isinstance(bit, int)))
        held: dict[Bit, Bit] = {}
        for name, sources in found.items():
            register = self.cells.pop(name)
            wires = register["connections"]
            del self.by_input[wires["DI"][0]]
            self.makers[wires["DI"][0]]["connections"]["Z"] = wires["Q"]
            for net, cell, port in sources:
                if net not in early:
                    if net not in held:
                        held[net] = next(fresh)
                        self.cells[f"{name}.choice{net}"] = register | {
                            "connections": wires | {"DI": [net], "Q": [held[net]]}
                        }
                    cell["connections"][port] = [held[net]]
