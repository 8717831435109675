"""Symbolic metrics of a program: traffic, memory, operations, intensity, from shapes alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import sympy

from step.language.arguments import checked
from step.language.graph import Graph
from step.language.operator import Accounting
from step.language.symbols import check_values, evaluate
from step.language.types import with_rows
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist
from step.lowering.storage import load_bytes
from step.programs.energy.activity import activity
from step.programs.energy.figures import figures
from step.programs.energy.model import Energy
from step.programs.prepare import Openable, Prepared, prepare
from step.programs.tables import table
from step.programs.useful import useful_of

BASE = ("off_chip_bytes", "on_chip_bytes", "flops", "channel_bytes", "load_bytes", "useful_flops")
"""Metrics that are sums over operators and channels, in the order of tables."""

RATIOS = ("intensity", "useful_intensity")
UNITS = {**{name: "FLOP" if name.endswith("flops") else "B" for name in BASE}, **dict.fromkeys(RATIOS, "FLOP/B")}


@dataclass(frozen=True)
class Metrics:
    """Bytes and operations, as expressions in the program's symbols.

    Apart from ``on_chip_bytes`` are ``channel_bytes`` (values for which the FIFOs have room, tiles of dynamic size with
    the most rows) and ``load_bytes`` (tiles for which the queues of loads have room, without the two of each load that
    ``on_chip_bytes`` has); all memory on chip is the sum of the three. ``useful_flops`` are the operations on rows that
    are data, and no padding; of the operators ``at_most`` nobody knows, and all count. ``graph`` is the measured graph,
    ``netlist``
    what it was lowered to; ``values`` are those of symbols, where they are bound.
    """

    graph: Graph = field(repr=False, compare=False)
    off_chip_bytes: sympy.Expr
    on_chip_bytes: sympy.Expr
    flops: sympy.Expr
    channel_bytes: sympy.Expr
    load_bytes: sympy.Expr
    useful_flops: sympy.Expr
    netlist: Netlist = field(repr=False, compare=False)
    values: Mapping[str, int] | None = field(default=None, repr=False, compare=False)
    at_most: tuple[str, ...] = field(default=(), repr=False)

    @property
    def intensity(self) -> sympy.Expr:
        """Floating-point operations per off-chip byte; 0 where there is no traffic."""
        return self._a_byte(self.flops)

    @property
    def useful_intensity(self) -> sympy.Expr:
        """Useful operations per off-chip byte; 0 where there is no traffic."""
        return self._a_byte(self.useful_flops)

    def _a_byte(self, flops: sympy.Expr) -> sympy.Expr:
        return flops / self.off_chip_bytes if self.off_chip_bytes != 0 else sympy.Integer(0)

    @property
    def doubt(self) -> str | None:
        """Warning of ``useful_flops`` that are only an upper bound."""
        if not self.at_most:
            return None
        return f"useful_flops is at most so much: which rows are padding is not known at {', '.join(self.at_most)}"

    @cached_property
    def energy(self) -> Energy:
        """Energy of all that switches, by published figures (docs/energy.md)."""
        return self.energy_by(None)

    def energy_by(self, energies: Path | str | None) -> Energy:
        """`energy` by the figures in a file; raises `FormatError` for one that has none."""
        found = Energy(activity(self.netlist), figures(energies))
        if self.values is None:
            return found
        return replace(
            found, activity={n: evaluate(each, self.values, self.graph) for n, each in found.activity.items()}
        )

    @checked
    def bind(self, values: Mapping[str, int]) -> Metrics:
        """The same with numbers for symbols (`step.bind` gives those of a program's data).

        Raises `UnboundSymbol` for names that are wrong or missing, and `InputError` for impossible extents.
        """
        check_values(values, self.graph)
        found = {name: evaluate(each, values, self.graph) for name, each in self.items().items()}
        return Metrics(self.graph, **found, netlist=self.netlist, values=values, at_most=self.at_most)

    def _repr_html_(self) -> str:
        rows = [(name, getattr(self, name), unit) for name, unit in UNITS.items()]
        return table(("metric", "value", "unit"), rows)

    def items(self) -> dict[str, sympy.Expr]:
        """The base metrics by name."""
        return {name: getattr(self, name) for name in BASE}


@checked
def metrics(program: Openable, fabric: FabricConfig | None = None, accounting: Accounting = "paper") -> Metrics:
    """Metrics of ``program``: off-chip traffic and on-chip memory in bytes, and operations, in its symbols.

    ``program``: a `Program`, a `Graph` or the name of a file.
    ``fabric``: a `FabricConfig` in the place of the program's own.
    ``accounting``: "paper" follows the paper's equations; "artifact" those of the published figures: single-buffered
    off-chip operators and nothing for matmul operands.

    Raises what the program's checks raise, and warns of what is doubtful in it (`ProgramWarning`).

    >>> step.metrics(program).flops, step.metrics(program).bind({"N": 5}).flops
    (3*N, 15)
    """
    prepared = prepare(program, fabric=fabric)
    prepared.warn()
    return metrics_of(prepared, accounting)


def metrics_of(prepared: Prepared, accounting: Accounting = "paper") -> Metrics:
    """`metrics` without warnings, for who shows them in another way."""
    graph, netlist = prepared.graph, prepared.netlist
    useful = useful_of(graph)
    values = [each for each in netlist.channels if each.element is not None]
    # Queues of loads without what on_chip_bytes has of them.
    queues = ((load_bytes(netlist, each), each.operator.on_chip_bytes(each, accounting)) for each in netlist.units)
    return Metrics(
        graph,
        sympy.Add(*(node.operator.off_chip_bytes(node) for node in graph)),
        sympy.Add(*(node.operator.on_chip_bytes(node, accounting) for node in graph)),
        sympy.Add(*(node.operator.flops(node) for node in graph)),
        sympy.Add(*(each.depth * with_rows(each.type.element, each.rows).bytes for each in values)),
        sympy.Add(*(sympy.Max(0, queue - counted) for queue, counted in queues)),
        useful.total,
        netlist=netlist,
        at_most=useful.unknown,
    )
