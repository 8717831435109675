"""Accum: reduces the inner dimensions of aligned streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim_approx.placing.site import UnitSite, rows_of_state
from sim_approx.placing.sizes import function_sizes
from step.firing.machine import COMPUTES, ENDS, Machine, Sizes
from step.firing.words import fault, need_all, put, reserve, room, take, values
from step.language.dims import product
from step.language.faults import Fault, aligned, rows_of, same_rows
from step.language.tokens import Token, empty
from step.language.types import Tile, is_dynamic
from step.ops.accum import Accum as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Accum(Machine):
    """Emits at stops of ``rank`` or more, and at Done; ``promised`` is the element count that a result must have.

    A state of dynamic size has ``most_rows`` at most (0: it is static). It has the rows of the elements at input
    ``kept``; or, where this is -1, of all elements together, ``more`` each or, where this is 0, its own. Inputs
    ``tiled`` have elements of dynamic size: they take the time that their rows take, as does a state that leaves
    without an element. ``distinct``: elements are indices that differ in a reduction; ``see`` adds one to those that
    were ``seen``, or finds the fault.

    Words: ``state`` (value), ``count`` of elements since the last result, ``height`` of the state; ``tallest`` so far.
    """

    rank: int
    promised: int | None
    most_rows: int
    kept: int
    more: int
    tiled: tuple[int, ...]
    distinct: bool
    see: Callable[..., Any]
    update: Callable[..., Any]
    initial: Any
    state: Any
    count: int = 0
    height: int = 0
    tallest: int = 0
    seen: Any = 0

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        same_rows(tokens, self.tiled)
        ends = x.stop >= self.rank
        outside = x.rank > self.rank
        if ends and not outside and self.promised is not None and self.count + x.has_value != self.promised:
            fault(Fault.WRONG_COUNT)
        seen = self.seen
        if self.distinct and x.has_value:
            seen = self.see(seen, x.value)
        height = self.height
        if self.most_rows and x.has_value:
            if self.kept >= 0:
                height = rows_of(tokens[self.kept].value)
                if self.count and height != self.height:
                    fault(Fault.STOPS_DISAGREE)
            else:
                height = self.height + (self.more if self.more else rows_of(x.value))
            if height > self.most_rows:
                fault(Fault.TOO_MANY_ROWS)
        if ends or x.done:
            room(self.outputs[0])
        for each in self.inputs:
            take(each)
        if x.done:
            put(self.outputs[0], x)
            return ENDS
        if x.has_value:
            self.state = self.update(self.state, *values(tokens))
            self.count += 1
            self.height = height
            if height > self.tallest:
                self.tallest = height
            self.seen = seen
        if outside:
            put(self.outputs[0], empty(x.rank - self.rank, x.stop - self.rank))
        elif ends:
            put(self.outputs[0], Token(self.state, x.stop - self.rank))
            if self.burst > 1:
                reserve(self.outputs[0], self.burst)
            self.state = self.initial
            self.count = 0
            self.height = 0
            self.seen = 0
        if x.has_value and self.tiled:
            self.resize(tokens[self.tiled[0]].value)
        return COMPUTES if x.has_value or (ends and not outside and self.kept >= 0) else None


def build(site: UnitSite) -> Machine:
    operator = site.node.operator
    assert isinstance(operator, Operator)
    function, inner = operator.function, site.node.inputs[0].shape[-operator.rank :]
    timing = site.timing(function, reduce=True, stored=True)
    element = site.node.output_types[0].element
    start = function.initial(element)
    # A state that is no result at first (an empty tile) becomes one after the promised number of elements.
    counted = not element.accepts(start)
    first, kept = site.node.inputs[0].element, operator.rows_kept(site.node.input_types)
    initial, update = (start, function.update) if site.computes else rows_of_state(site, kept)
    return site.add(
        Accum(
            **site.ports(),
            latency=timing.latency,
            interval=timing.initiation_interval,
            rank=operator.rank,
            burst=timing.burst,
            promised=int(product(inner)) if counted else None,
            most_rows=site.most_rows if is_dynamic(site.elements_out[0]) else 0,
            kept=-1 if kept is None else kept,
            more=int(first.rows) if isinstance(first, Tile) and first.rows.is_static else 0,
            tiled=site.tiled,
            distinct=operator.distinct > 0,
            see=operator.with_index,
            update=update,
            initial=initial,
            state=initial,
        )
    )


def sizes(site: UnitSite, machine: Machine) -> Sizes:
    """A state of dynamic size takes as long as a static one, with every element and on its way out."""
    operator = site.node.operator
    assert isinstance(operator, Operator)
    return function_sizes(site, operator.function, reduce=True, stored=True)
