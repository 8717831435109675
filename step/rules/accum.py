"""Accum: reduces the inner dimensions of aligned streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from step.firing.declared import MOST_ROWS, TILED, Applied, Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import fault, need_all, put, reserve, room, take, values
from step.language.dims import product
from step.language.faults import Fault, aligned, rows_of, same_rows
from step.language.graph import Node
from step.language.reduction import Distinct
from step.language.tokens import Token, empty
from step.language.types import Tile
from step.ops.accum import Accum as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Accum(Machine):
    """Emits at stops of ``rank`` or more, and at Done; a result must have ``promised`` elements (-1: any number).

    A state of dynamic size has ``most_rows`` at most (0: it is static). It has the rows of the elements at input
    ``kept``; or, where this is -1, of all elements together, ``more`` each or, where this is 0, its own. Inputs
    ``tiled`` have elements of dynamic size: they take the time that their rows take, as does a state that leaves
    without an element. Where ``distinct``, elements are indices that differ in a reduction; ``see`` adds one to those
    that were ``seen``, or finds the fault.

    Words: ``state`` (value), which counts but where a reduction ``begins``; ``count`` of its elements, one more than
    promised at most; the ``tallest`` state so far.
    """

    rank: int
    update: Callable[..., Any]
    see: Callable[..., Any]
    initial: Any
    promised: int = -1
    most_rows: int = 0
    kept: int = -1
    more: int = 0
    tiled: tuple[int, ...] = ()
    distinct: bool = False
    state: Any = None
    begins: bool = True
    count: int = 0
    tallest: int = 0
    seen: Any = 0

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        same_rows(tokens, self.tiled)
        ends = x.stop >= self.rank
        emits = ends and x.rank <= self.rank
        count = self.count
        if x.has_value and count <= self.promised:
            count = count + 1
        if emits and self.promised >= 0 and count != self.promised:
            fault(Fault.WRONG_COUNT)
        seen = self.seen
        if self.distinct and x.has_value:
            seen = self.see(seen, x.value)
        # An empty row of no dimension inside ends a reduction that had no elements.
        before = self.initial if self.begins or (self.rank == 1 and not x.has_value) else self.state
        height = 0
        if self.most_rows and x.has_value:
            if self.kept >= 0:
                height = rows_of(tokens[self.kept].value)
                if not self.begins and height != rows_of(before):
                    fault(Fault.STOPS_DISAGREE)
            else:
                more = self.more if self.more else rows_of(x.value)
                height = rows_of(before) + more
            if height > self.most_rows:
                fault(Fault.TOO_MANY_ROWS)
        if ends or x.done:
            room(self.outputs[0])
        for each in self.inputs:
            take(each)
        if x.done:
            put(self.outputs[0], x)
            return ENDS
        if x.has_value or ends:
            self.begins = ends
        self.count = 0 if ends else count
        self.seen = 0 if ends else seen
        if x.has_value:
            before = self.update(before, *values(tokens))
            self.state = before
            if height > self.tallest:
                self.tallest = height
        if emits:
            put(self.outputs[0], Token(before, x.stop - self.rank))
            if self.burst > 1:
                reserve(self.outputs[0], self.burst)
        elif ends:
            put(self.outputs[0], empty(x.rank - self.rank, x.stop - self.rank))
        if x.has_value and self.tiled:
            self.resize(tokens[self.tiled[0]].value)
        return COMPUTES if x.has_value or (emits and self.kept >= 0) else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator, reduced, result = node.operator_as(Operator), node.inputs[0], node.output_types[0].element
    initial, kept = operator.function.initial(result), operator.rows_kept(node.input_types)
    given = {"rank": operator.rank, "initial": initial, "tiled": TILED, "most_rows": MOST_ROWS}
    if not result.accepts(initial):  # an empty tile becomes a result after the promised number of elements
        given["promised"] = int(product(reduced.shape[-operator.rank :]))
    if kept is not None:
        given["kept"] = kept
    elif not result.is_static and isinstance(reduced.element, Tile) and reduced.element.rows.is_static:
        given["more"] = int(reduced.element.rows)
    update, see = Applied.to_state(node, stored=True), Distinct(operator.distinct)
    return Declared(Accum, {**given, "update": update, "distinct": operator.distinct > 0, "see": see})
