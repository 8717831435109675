"""Sink: a stream that leaves the fabric; whoever takes it is always ready."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_approx.placing.site import UnitSite, word_sizes
from step.firing.machine import ENDS, Machine
from step.firing.words import need, take
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class Sink(Machine):
    """Reads a word per firing, of a value as many as a `Machine.burst` has; ``collected`` has the tokens without Done.

    Word: ``word`` of the value in front.
    """

    word: int = 0
    collected: list[Token] = field(default_factory=list)

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if x.has_value:
            self.resize(x.value)
        if x.has_value and self.word < self.burst - 1:
            self.word += 1
            return None
        self.word = 0
        take(self.inputs[0])
        if x.done:
            return ENDS
        self.collected.append(x)
        return None


def build(site: UnitSite) -> Machine:
    return site.add(Sink(**site.ports(), burst=site.words_in[0], collected=site.output()))


sizes = word_sizes
