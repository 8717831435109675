"""Sink: a stream that leaves the fabric; whoever takes it is always ready."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_approx.placing.site import Site
from step.firing.machine import ENDS, Machine
from step.firing.words import need, take
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class Sink(Machine):
    """Reads a word per firing; ``collected`` has the tokens without Done. Word: ``beat`` of the value in front."""

    beats: int
    beat: int = 0
    collected: list[Token] = field(default_factory=list)

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if x.has_value and self.beat < self.beats - 1:
            self.beat += 1
            return None
        self.beat = 0
        take(self.inputs[0])
        if x.done:
            return ENDS
        self.collected.append(x)
        return None


def build(site: Site) -> Machine:
    return site.add(Sink(**site.ports(), beats=site.beats_in[0], collected=site.output()))
