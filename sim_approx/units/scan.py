"""Scan: every state of a reduction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim_approx.engine.words import unknown
from sim_approx.placing.site import Site
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need_all, put, room, take, values
from step.language.faults import aligned
from step.language.tokens import Token
from step.ops.scan import Scan as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Scan(Machine):
    """Sends the state after every element, or with ``exclusive`` the one before it; stops of ``rank`` or more reset it.

    Word: ``state`` (value).
    """

    rank: int
    exclusive: bool
    update: Callable[..., Any]
    initial: Any
    state: Any

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        room(self.outputs[0])
        for each in self.inputs:
            take(each)
        before = self.state
        if x.has_value:
            self.state = self.update(self.state, *values(tokens))
            put(self.outputs[0], Token(before if self.exclusive else self.state, x.stop))
        else:
            put(self.outputs[0], x)
        if x.stop >= self.rank:
            self.state = self.initial
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


def build(site: Site) -> Machine:
    operator, element = site.node.operator, site.node.output_types[0].element
    assert isinstance(operator, Operator)
    function, timing = operator.function, site.timing(operator.function, reduce=True)
    initial = function.initial(element) if site.computes else unknown()
    return site.add(
        Scan(
            **site.ports(),
            latency=timing.latency,
            interval=timing.initiation_interval,
            rank=operator.rank,
            exclusive=operator.exclusive,
            update=function.update if site.computes else unknown,
            initial=initial,
            state=initial,
        )
    )
