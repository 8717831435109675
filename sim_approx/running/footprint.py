"""Whether a run fits into memory, estimated before it begins.

The engines themselves take little: some hundred bytes per unit and channel, and what the channels hold. What grows
with a run is what is kept of it: values, which the compiled engine holds until the end, and the cycle of every token.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy

from step.errors import StreamFault
from step.host.memory import check_fits
from step.language.checker import StreamChecker
from step.language.operator import StreamType
from step.language.symbols import evaluate, measure
from step.lowering.netlist import Netlist

OBJECT = 300
"""Bytes of a value besides its scalars: an array, and its number."""
EVENT = 150
"""Bytes of the cycles in which a token entered and left a channel, in all the forms that they take."""


class Footprint:
    """Memory of a run of ``netlist``, as far as the ``checkers`` of its sources say how many tokens there are."""

    def __init__(self, netlist: Netlist, checkers: Mapping[str, StreamChecker]) -> None:
        self._netlist, self._known = netlist, dict[sympy.Expr, int]()
        try:
            self._values = measure(netlist.graph, checkers)
        except StreamFault:  # which the run itself will meet
            self._values = dict.fromkeys(netlist.graph.symbols, 0)

    def check(self, *, values: bool, events: bool, max_cycles: int | None) -> None:
        """Raise `EnvironmentProblem` for a run that keeps more than there is memory."""
        if values:
            streams = [each.type for each in self._netlist.graph.streams()]
            counts = [self._tokens(each, max_cycles) for each in streams]
            sizes = [OBJECT + self._known_or_zero(each.element.bytes) for each in streams]
            needed = sum(count * size for count, size in zip(counts, sizes, strict=True))
            kept = f"this run would keep the values of {sum(counts):,} tokens, which"
            check_fits(needed, kept, 'values="control" keeps none of them')
        if events:
            tokens = sum(self._tokens(each.type, max_cycles) for each in self._netlist.channels)
            kept = f"this run would keep the cycles of {tokens:,} tokens, which"
            check_fits(tokens * EVENT, kept, "a run without events keeps none of them")

    def _tokens(self, stream: StreamType, max_cycles: int | None) -> int:
        """Tokens that come: at most one in a cycle."""
        count = self._known_or_zero(stream.count)
        return count if max_cycles is None else min(count, max_cycles)

    def _known_or_zero(self, count: sympy.Expr) -> int:
        """``count``, in which symbols that are known at run time only are 0."""
        if count not in self._known:
            self._known[count] = max(0, int(evaluate(count, self._values, self._netlist.graph)))
        return self._known[count]
