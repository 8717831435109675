"""Source: plays the tokens of an external stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_approx.machine import ENDS, Machine, put, room
from sim_approx.site import Site
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class Source(Machine):
    """Written by hand: the stream is outside of the fabric, and always ready with its next token."""

    tokens: list[Token]
    position: int = field(default=0, init=False)

    def fire(self) -> int | None:
        room(self.outputs[0])
        token = self.tokens[self.position]
        self.position += 1
        put(self.outputs[0], token)
        return ENDS if token.done else None


def build(site: Site) -> Machine:
    return site.add(Source(**site.ports(), tokens=site.data.streams[site.node.name]))
