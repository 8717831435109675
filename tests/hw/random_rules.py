"""Random rules: state machines that take, hold, put and drop, some of which no hardware can be made of."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

HEAD = """\
from __future__ import annotations
from dataclasses import dataclass
from typing import Any
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.tokens import Token
@dataclass(slots=True, eq=False, kw_only=True)
class Odd(Machine):
    filler: Any
    held: Token | None = None
    flag: bool = False
    count: int = 0
    def fire(self):
        x = need(self.inputs[0])
"""

Leaf = tuple[bool, str, str]
"""Whether the token in front is taken; what is put, if anything; what is held from now on, if that changes."""

FREE: tuple[Leaf, ...] = (
    (True, "x", ""), (True, "", "x"), (True, "Token(self.filler, x.stop)", "x"), (True, "", ""), (False, "x", ""),
    (False, "Token(x.value)", ""), (True, "Token(self.filler, x.stop)", ""), (False, "Token(self.filler)", ""),
)  # fmt: skip
"""Where nothing is held, of a value."""

HOLDING: tuple[Leaf, ...] = (
    (True, "self.held", "x"), (False, "self.held", "None"), (True, "Token(self.held.value, x.stop)", "x"),
    (False, "Token(self.held.value, x.stop)", "None"), (False, "Token(self.filler)", ""), (False, "", ""),
    (False, "", "Token(self.held.value, x.stop)"),
)  # fmt: skip

PUTS = ("", "x", "self.held", "Token(x.value)", "Token(self.filler)")
NEXT = ("", "x", "None")

TESTS = ("self.flag", "x.stop == 0", "x.stop > 0", "self.count == 2", "x.stop > self.count")
CHANGES = (
    "self.flag = not self.flag", "self.flag = True", "self.flag = False", "self.flag = x.stop > 0",
    "self.count = 0", "self.count = 0 if self.count == 2 else self.count + 1",
)  # fmt: skip


def rule(seed: int) -> str:
    """The text of a file with a rule."""
    random, odd = Random(seed), Random(f"odd {seed}").random() < 0.4

    def leaf(choices: tuple[Leaf, ...], depth: int) -> Iterator[str]:
        """A firing with a value in front."""
        if depth and random.random() < 0.6:
            yield from either(random.choice(TESTS), leaf(choices, depth - 1), leaf(choices, depth - 1))
            return
        takes, puts, held = random.choice(choices)
        if odd and random.random() < 0.25:
            takes, puts, held = random.random() < 0.5, random.choice(PUTS), random.choice(NEXT)
        if puts:
            yield "room(self.outputs[0])"
            yield f"put(self.outputs[0], {puts})"
        if takes:
            yield "take(self.inputs[0])"
        if held:
            yield f"self.held = {held}"
        for _ in range(0 if takes else 1, 3):
            if not takes or random.random() < 0.3:
                yield random.choice(CHANGES)
        yield "return COMPUTES" if puts and not (odd and random.random() < 0.05) else "return None"

    def either(test: str, yes: Iterator[str], no: Iterator[str]) -> Iterator[str]:
        yield f"if {test}:"
        yield from (f"    {line}" for line in yes)
        yield from no

    def rest() -> Iterator[str]:
        """A firing with Done or an empty in front."""
        yield "if self.held is not None:"
        yield "    room(self.outputs[0])"
        yield "    computes = self.held.has_value"
        yield f"    put(self.outputs[0], {random.choice(('self.held', 'Token(self.held.value, x.stop)'))})"
        yield "    self.held = None"
        yield "    return COMPUTES if computes else None"
        yield "room(self.outputs[0])"
        yield "take(self.inputs[0])"
        yield "put(self.outputs[0], x)"
        yield "return ENDS if x.done else None"

    value = either("self.held is None", leaf(FREE, 2), leaf(HOLDING, 2))
    return HEAD + "".join(f"        {line}\n" for line in either("x.has_value", value, rest()))
