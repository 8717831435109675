"""Values that rules name or calculate are the same in both engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from sim_approx.compiled.engine import CompiledEngine
from sim_approx.engine.events import PythonEngine
from sim_approx.engine.words import CycleClock
from sim_approx.units.sink import Sink
from sim_approx.units.source import Source
from step.firing.machine import COMPUTES, ENDS, Channel, Machine
from step.firing.words import need, put, room, take
from step.language.tokens import DONE, NOTHING, UNKNOWN, Token

SEVEN, MINUS_NINE, HUGE, ALSO_HUGE = Token(7), Token(-9, 1), Token(1 << 70), Token((1 << 71) >> 1)
TRUTH, TEXT = Token(True), Token("behind integers")
MINUS_THREE, FLAG, NO_VALUE = -3, True, NOTHING


@dataclass(slots=True, eq=False, kw_only=True)
class Says(Machine):
    """For every token another one."""

    step: int = 0
    early: bool = True

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        room(self.outputs[0])
        take(self.inputs[0])
        said = x
        if self.step == 0:
            said = SEVEN
        if self.step == 1:
            said = MINUS_NINE
        if self.step == 2:
            said = HUGE
        if self.step == 3:
            said = ALSO_HUGE
        if self.step == 4:
            said = TRUTH
        if self.step == 5:
            said = TEXT
        if self.step == 6:
            said = Token(MINUS_THREE)
        if self.step == 7:
            said = Token(-1, 2)
        if self.step == 8:
            said = Token(FLAG)
        if self.step == 9:
            said = Token(self.early)
        if self.step == 10:
            said = Token(NO_VALUE, 1, 1)
        if self.step == 11:
            said = Token(self.step)
        if self.step == 12:
            said = Token(3 if self.early else self.step - 17)
        put(self.outputs[0], said)
        self.step += 1
        self.early = self.step < 9
        return ENDS if x.done else COMPUTES


SAID = "7 -9 HUGE HUGE True 'behind integers' -3 -1 True False NOTHING 11 -5".replace("HUGE", str(1 << 70))


def said_by(engine: Callable[[Any], CompiledEngine | PythonEngine]) -> tuple[str, int]:
    """The values that `Says` says, and the cycles that it takes."""
    asked, told = Channel(2, 0), Channel(2, 1)
    source = Source(inputs=(), outputs=(asked,), tokens=[*[Token(UNKNOWN)] * 13, DONE], most_rows=0)
    sink = Sink(inputs=(told,), outputs=())
    sink.ends_run = True
    machines = [source, Says(inputs=(asked,), outputs=(told,)), sink]
    for order, machine in enumerate(machines):
        machine.order = order
    asked.writer, asked.reader, told.writer, told.reader = source, machines[1], machines[1], sink
    fabric = SimpleNamespace(machines=machines, all_channels=[asked, told], memory=None, clock=CycleClock())
    ending = engine(fabric).run()
    assert [token.stop for token in sink.collected] == [0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0]
    return " ".join(repr(token.value) for token in sink.collected), ending.cycles


def test_values() -> None:
    compiled = said_by(lambda fabric: CompiledEngine(fabric, {}, outputs=True))
    python = said_by(lambda fabric: PythonEngine(fabric, {}))
    assert compiled == python == (SAID, 16)
