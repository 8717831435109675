"""Source: plays the tokens of an external stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_approx.placing.site import Site
from step.firing.machine import ENDS, Machine, Stream
from step.firing.words import put, room


@dataclass(slots=True, eq=False, kw_only=True)
class Source(Machine):
    """Written by hand: the stream is outside of the fabric, and always ready with its next word.

    A token enters with its last word. Word: ``beat`` of the value that comes.
    """

    tokens: Stream
    beats: int
    beat: int = field(default=0, init=False)
    position: int = field(default=0, init=False)

    def fire(self) -> int | None:
        token = self.tokens[self.position]
        if token.has_value and self.beat < self.beats - 1:
            self.beat += 1
            return None
        room(self.outputs[0])
        self.beat = 0
        self.position += 1
        put(self.outputs[0], token)
        return ENDS if token.done else None


def build(site: Site) -> Machine:
    return site.add(Source(**site.ports(), tokens=site.stream(), beats=site.beats_out[0]))
