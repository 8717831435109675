"""Scan: every state of a reduction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim_approx.placing.site import UnitSite, rows_of_state
from sim_approx.placing.sizes import function_sizes
from step.firing.machine import COMPUTES, ENDS, Machine, Sizes
from step.firing.words import fault, need_all, put, room, take, values
from step.language.faults import Fault, aligned, rows_of, same_rows
from step.language.tokens import Token
from step.ops.scan import Scan as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Scan(Machine):
    """Sends the state after every element, or with ``exclusive`` the one before it; stops of ``rank`` or more reset it.

    Elements at the inputs ``tiled`` are of dynamic size; those of a reduction have as many rows, as the state has.

    Words: ``state`` (value), ``height`` of it, 0 where a reduction ``begins``.
    """

    rank: int
    exclusive: bool
    update: Callable[..., Any]
    initial: Any
    state: Any
    tiled: tuple[int, ...]
    height: int = 0
    begins: bool = True

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        same_rows(tokens, self.tiled)
        height = self.height
        if x.has_value and self.tiled:
            height = rows_of(tokens[self.tiled[0]].value)
            if height != self.height and not self.begins:
                fault(Fault.STOPS_DISAGREE)
        room(self.outputs[0])
        for each in self.inputs:
            take(each)
        before = self.state
        if x.has_value:
            self.state = self.update(self.state, *values(tokens))
            put(self.outputs[0], Token(before if self.exclusive else self.state, x.stop))
        else:
            put(self.outputs[0], x)
        if x.has_value:
            self.height = height
            self.begins = False
        if x.stop >= self.rank:
            self.state = self.initial
            self.begins = True
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


def build(site: UnitSite) -> Machine:
    operator, element = site.node.operator, site.node.output_types[0].element
    assert isinstance(operator, Operator)
    function, timing = operator.function, site.timing(operator.function, reduce=True)
    start, kept = function.initial(element), operator.rows_kept(site.node.input_types)
    initial, update = (start, function.update) if site.computes else rows_of_state(site, kept)
    return site.add(
        Scan(
            **site.ports(),
            latency=timing.latency,
            interval=timing.initiation_interval,
            rank=operator.rank,
            exclusive=operator.exclusive,
            update=update,
            initial=initial,
            state=initial,
            tiled=site.tiled,
        )
    )


def sizes(site: UnitSite, machine: Machine) -> Sizes:
    """A state of dynamic size takes as long as its rows."""
    operator = site.node.operator
    assert isinstance(operator, Operator)
    return function_sizes(site, operator.function, reduce=True)
