"""Source: plays the tokens of an external stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_approx.placing.site import UnitSite, word_sizes
from step.firing.machine import ENDS, Counter, Machine, Stream
from step.firing.words import fault, put, reserve, room
from step.language.faults import Fault, rows_of
from step.language.types import is_dynamic


@dataclass(slots=True, eq=False, kw_only=True)
class Source(Machine):
    """Written by hand: the stream is outside of the fabric, and always ready with its next word.

    A token enters with its last word; a `Machine.burst` are the words of a value. Behind a tile of dynamic size, of
    ``most_rows`` at most (0: there are none), the next token waits until its words are out. Words: ``word`` of the
    value that comes; ``tallest`` tile so far.
    """

    counter = Counter("position", stream="tokens")

    tokens: Stream
    most_rows: int
    word: int = field(default=0, init=False)
    position: int = field(default=0, init=False)
    tallest: int = field(default=0, init=False)

    def fire(self) -> int | None:
        token = self.tokens[self.position]
        if self.most_rows and token.has_value:
            if rows_of(token.value) > self.most_rows:
                fault(Fault.TOO_MANY_ROWS)
            if rows_of(token.value) > self.tallest:
                self.tallest = rows_of(token.value)
            self.resize(token.value)
        if token.has_value and self.word < self.burst - 1:
            self.word += 1
            return None
        room(self.outputs[0])
        self.word = 0
        self.position += 1
        put(self.outputs[0], token)
        if self.most_rows and token.has_value:
            reserve(self.outputs[0], self.burst)
        return ENDS if token.done else None


def build(site: UnitSite) -> Machine:
    most = site.most_rows if is_dynamic(site.elements_out[0]) else 0
    return site.add(Source(**site.ports(), tokens=site.stream(), burst=site.words_out[0], most_rows=most))


sizes = word_sizes
