"""Operations of a run, and the bytes that they took: a roofline is drawn from these."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from step.language.symbols import evaluate
from step.lowering.feasible import flops_a_cycle, is_read, with_lanes
from step.lowering.netlist import Channel
from step.programs.energy.activity import bits_of
from step.programs.prepare import prepare
from step.programs.program import Program
from step.programs.useful import useful_of
from step.running.interpreter import bind


@dataclass(frozen=True)
class OperatorWork:
    """The ``flops`` of an operator on the data of its program, of which so many are ``useful`` (at most), the most that
    its lanes do ``a_cycle``, and the ``link_bytes`` of the values that it takes and sends."""

    flops: int
    a_cycle: int
    link_bytes: int
    useful: int

    @property
    def intensity(self) -> float:
        """Operations per byte on its links."""
        return self.flops / self.link_bytes


def work_of(program: Program) -> dict[str, OperatorWork]:
    """By name, what the operators of ``program`` that have lanes do on its data; none for those that do nothing.

    The counts are those of `step.metrics`, of tiles of dynamic size with the rows that they have. Raises what
    `step.bind` raises.
    """
    netlist = prepare(program).netlist
    useful = useful_of(netlist.graph)
    sums = {}
    for node in with_lanes(netlist):
        if is_read(node, netlist):
            ends = [*netlist.inputs(node), *(each for each in netlist.outputs(node) if each is not None)]
            sums[node] = node.operator.flops(node), sympy.Add(*map(_bits, ends)), useful.flops[node.name]
    symbols = bind(program) if any(each.free_symbols for counts in sums.values() for each in counts) else {}
    found = {}
    for node, counts in sums.items():
        flops, bits, data = (int(evaluate(each, symbols, netlist.graph).round()) for each in counts)
        if flops and bits:
            found[node.name] = OperatorWork(flops, flops_a_cycle(node, netlist), bits // 8, data)
    return found


def _bits(channel: Channel) -> sympy.Expr:
    """Bits of all values that pass ``channel``."""
    return sympy.Integer(0) if channel.element is None else channel.type.count * bits_of(channel.element)
