"""Rules that would lose bits or forget their data are refused when they are elaborated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Const, Module, Mux, Signal
from cases import cases
from formats import one_word

from hw.firing.machine import Firing
from hw.firing.mechanism import FiringError
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import Format, TokenFormat

Fire = Callable[[Module, Firing], None]
TOKEN = one_word(3, 8)

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
"""What is refused was begun, and not used up."""


@dataclass(frozen=True)
class Tried(FiringRule):
    """A token like `TOKEN` goes to an output of ``out``; ``body`` says how."""

    body: Fire
    out: TokenFormat = TOKEN
    latency: int = 0

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (TOKEN,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.out,)

    def fire(self, m: Module, firing: Firing) -> None:
        self.body(m, firing)


CONTROL = one_word(3, 8, control=True)


def elaborate(rule: FiringRule) -> str:
    return str(rtlil.convert(Unit(rule), name="tried", emit_src=False))


def refusal(rule: FiringRule) -> str:
    """Why ``rule`` is refused; what was begun for it is gone when this returns."""
    try:
        elaborate(rule)
    except FiringError as error:
        return str(error)
    return "it is taken"


def put(word: Callable[[Firing], Any] | None = lambda firing: firing.word(0), **parts: Any) -> Fire:
    """The token in front, with other ``parts``; functions of it, or constants. Its data is ``word``, if anything."""

    def fire(m: Module, firing: Firing) -> None:
        token = firing.need(0)
        made = {name: part(token) if callable(part) else part for name, part in parts.items()}
        firing.put(0, token, **made)
        if word is not None:
            firing.send(0, word(firing))

    return fire


def late(width: int) -> Fire:
    def fire(m: Module, firing: Firing) -> None:
        firing.put(0, firing.need(0))
        firing.complete(0, control=Signal(width))

    return fire


def lower(m: Module, firing: Firing) -> None:
    """Arithmetic is wider than what it gives."""
    firing.put(0, value=1, stop=firing.need(0).stop - 2)
    firing.send(0, 0)


@pytest.mark.parametrize(
    "rule",
    [
        Tried(put()),
        Tried(put(), one_word(7, 8)),
        Tried(put(stop=7), one_word(7, 8)),
        Tried(lower, one_word(1, 8)),
        Tried(put(stop=lambda token: Mux(token.value, token.stop + 1, 0))),
        Tried(put(lambda firing: 255)),
        Tried(put(lambda firing: Const(3, 20))),
        Tried(put(), latency=3),
        Tried(put(None, control=lambda token: Signal(8)), CONTROL),
        Tried(late(8), CONTROL, latency=3),
    ],
)
def test_what_fits_is_taken(rule: FiringRule) -> None:
    assert "tried" in elaborate(rule)


@cases(
    (Tried(put(None)), "it does not send the data of output 0"),
    (Tried(put(None), latency=3), "it does not send the data of output 0"),
    (Tried(put(), CONTROL), "data of output 0 has width 0, but is given width 8"),
    (Tried(late(8), CONTROL), "control of output 0 is late, but it has no latency"),
    (Tried(put(), one_word(3, 4)), "data of output 0 has width 4, but is given width 8"),
    (Tried(put(), one_word(3, 16)), "data of output 0 has width 16, but is given width 8"),
    (Tried(put(lambda firing: firing.word(0) + 1)), "data of output 0 has width 8, but is given width 9"),
    (Tried(put(lambda firing: 256)), "data of output 0 has width 8, too small for the number 256"),
    (Tried(put(), one_word(1, 8)), "stop of output 0 has width 1, but is given width 2"),
    (Tried(put(stop=lambda token: token.stop), one_word(1, 8)), "stop of output 0 has width 1, but is given width 2"),
    (Tried(put(stop=4)), "stop of output 0 has width 2, too small for the number 4"),
    (Tried(put(stop=-1)), "stop of output 0 has width 2, too small for the number -1"),
    (Tried(put(value=2)), "value of output 0 has width 1, too small for the number 2"),
    (Tried(put(dat=0)), f"output 0 has no field 'dat'; it has {', '.join(TOKEN.header.members)}"),
    (Tried(late(7), CONTROL, latency=3), "control of output 0 has width 8, but is given width 7"),
)
def test_what_would_be_lost_is_refused(rule: FiringRule, error: str) -> None:
    assert refusal(rule) == f"rule Tried: {error}"
