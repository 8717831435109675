"""Rules of which no hardware can be made: the exact text, with file and line."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType

import pytest
from amaranth.back import rtlil
from formats import one_word

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.rules.unit import Translated
from hw.rules.words import HardwareError
from step.firing.declared import Declared
from step.firing.item import Item
from step.firing.machine import Machine
from step.language.dtypes import INT8
from step.language.types import Tile, Tuple

HEAD = """\
from __future__ import annotations
from dataclasses import dataclass
from step.firing.machine import *
from step.firing.words import *
from step.language.faults import Fault, aligned
from step.language.tokens import Token, empty
@dataclass(slots=True, eq=False, kw_only=True)
class Odd(Machine):
    count: int
    table: tuple[int, ...]
    apply: object; part: object
    index: int = 0
    held: Token | None = None; other: Token | None = None
    notes: list[int] | None = None
    def fire(self):
"""
PASSES = "x = need(self.inputs[0]); room(self.outputs[0]); take(self.inputs[0]); put(self.outputs[0], x)"
STREAM = one_word(2, 8)


def machine(tmp_path: Path, body: str) -> type[Machine]:
    """The machine of a file with this rule."""
    path = tmp_path / "odd.py"
    text = HEAD + "".join(f"        {line}\n" for line in body.split("\n"))
    path.write_text(text)
    linecache.checkcache()
    module = ModuleType("odd")
    module.__file__ = str(path)
    sys.modules["odd"] = module
    exec(compile(text, str(path), "exec"), vars(module))
    found: type[Machine] = module.Odd
    return found


def read(odd: type[Machine], out: TokenFormat = STREAM) -> Translated:
    """The rule with two inputs and one output of ``out``, executed."""
    given = {"count": 3, "table": tuple(range(40)), "apply": print, "part": Item(Tuple((Tile(INT8),) * 2), 1)}
    rule = Translated.of(Declared(odd, given), (STREAM, one_word(0, 2, control=True)), (out,))
    assert rule.execution
    return rule


def test_what_passes_tokens_is_read(tmp_path: Path) -> None:
    assert read(machine(tmp_path, PASSES)).held == ()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            "x = need(self.inputs[0])\nput(self.outputs[0], x)",
            "16: no hardware can be made of a put without room for output 0; "
            "a firing says room for what it puts, no more",
        ),
        (
            "x = need(self.inputs[0])\nroom(self.outputs[0])\nif x.has_value:\n    put(self.outputs[0], x)",
            "16: no hardware can be made of room without a put for output 0; "
            "a firing says room for what it puts, no more",
        ),
        (
            PASSES + "\nput(self.outputs[0], x)",
            "17: no hardware can be made of a second put of output 0; a firing has one at most",
        ),
        (
            "x = need(self.inputs[0])\nroom(self.outputs[0])\nput(self.outputs[0], Token(x.value, x.stop + 1))",
            "18: no hardware can be made of a stop between 1 and 3 in output 0; "
            "there it is at most 2: say so before, or by a fault",
        ),
        (
            "x = need(self.inputs[0])\nroom(self.outputs[0])\nput(self.outputs[0], empty(x.rank - 1, x.stop))",
            "18: no hardware can be made of a rank between -1 and 1 in output 0; "
            "there it is at most 2: say so before, or by a fault",
        ),
        (
            PASSES + "\nself.index = self.index + 1",
            "17: no hardware can be made of self.index, which has no bounds; "
            "compare it with a parameter, a constant or the stop of a token before it changes",
        ),
        (
            "x = need(self.inputs[0])\nif self.table[x.stop] > self.count: take(self.inputs[0])",
            "17: no hardware can be made of a table of 40 entries; it may have 32",
        ),
        (
            "x = need(self.inputs[0])\nif (1, 2)[x.stop]: take(self.inputs[0])",
            "17: no hardware can be made of (1, 2); it compares, adds and subtracts, and says the words of step.firing",
        ),
        (
            "x = need(self.inputs[0])\nfor each in range(x.stop): take(self.inputs[0])",
            "17: no hardware can be made of range(x.stop); "
            "it says Token, aligned, chosen, empty, fault, min, need, need_all, put, room, same_rows, take, values, "
            "and a parameter that is side_by_side or an Item",
        ),
        (
            "for each in self.table: take(self.inputs[0])",
            "16: no hardware can be made of a loop over self.table; it goes over inputs or outputs",
        ),
        (
            "x = need(self.inputs[0])\nwhile x.done: pass",
            "17: no hardware can be made of while x.done:\n    pass; it has assignments, calls, if, for and return",
        ),
        (
            "x = need(self.inputs[0])\nself.notes = [1]",
            "17: no hardware can be made of the state word self.notes; "
            "it is list[int] | None, not int, bool or Token | None",
        ),
        (
            "x, y = need(self.inputs[0]), need(self.inputs[1])",
            "16: no hardware can be made of (need(self.inputs[0]), need(self.inputs[1])); "
            "it compares, adds and subtracts, and says the words of step.firing",
        ),
        (
            "x = need(self.inputs[0])\nself.held = x\ny = need(self.inputs[1])\nself.held = y",
            "19: no hardware can be made of what self.held holds; it may hold tokens of one input alone",
        ),
        (
            "take(self.outputs[0])",
            "16: no hardware can be made of take(self.outputs[0]); take is said of one input",
        ),
        (
            "x = need(self.inputs[0])\nif self.held: take(self.inputs[0])",
            "17: no hardware can be made of self.held; it has inputs, outputs, apply, count, part, table",
        ),
        (
            "x = need(self.inputs[0])\nif x: take(self.inputs[0])",
            "17: no hardware can be made of x as a condition; say `is None` of what may be missing",
        ),
        (
            "x = need(self.inputs[0])\nif x.done and need(self.inputs[1]).done: take(self.inputs[0])",
            "17: no hardware can be made of need(self.inputs[1]).done inside of a condition; say it before that",
        ),
        (
            "x = need(self.inputs[0])\ny = x.stop * 2",
            "17: no hardware can be made of x.stop * 2; "
            "it compares, adds and subtracts, and says the words of step.firing",
        ),
        (
            "x = front(self.inputs[0])",
            "16: no hardware can be made of front(self.inputs[0]); "
            "it says Token, aligned, chosen, empty, fault, min, need, need_all, put, room, same_rows, take, values, "
            "and a parameter that is side_by_side or an Item",
        ),
        (
            "x = need(self.inputs[0])\ny = Token(self.apply(x.value), x.stop)",
            "17: no hardware can be made of self.apply(x.value); "
            "it says Token, aligned, chosen, empty, fault, min, need, need_all, put, room, same_rows, take, values, "
            "and a parameter that is side_by_side or an Item",
        ),
        (
            "x = need(self.inputs[0])\nself.held = x\nself.other = x",
            "18: no hardware can be made of what self.other holds; it may hold tokens of one input alone",
        ),
        (
            "x = need(self.inputs[0])\ny = need(self.inputs[1])\nroom(self.outputs[0])\n"
            "put(self.outputs[0], Token(x.value if y.done else y.value))",
            "16: no hardware can be made of the words of output 0 out of input 0 or input 1; "
            "they are those of one input, a constant instead, values side by side, or an item",
        ),
        (
            "self.held = Token(1)",
            "16: no hardware can be made of what self.held holds; it may hold tokens of one input alone",
        ),
        (
            "x = need(self.inputs[0])\nroom(self.outputs[0])\n"
            "put(self.outputs[0], Token(self.part(x.value) if x.stop else x.value))",
            "16: no hardware can be made of the words of output 0 out of input 0 or an item of input 0; "
            "they are those of one input, a constant instead, values side by side, or an item",
        ),
        (
            "x = need(self.inputs[0])\nheld = self.held\nself.held = x\n"
            "if held is not None:\n    room(self.outputs[0]); put(self.outputs[0], Token(self.part(held.value)))",
            "16: no hardware can be made of words of input 0 1 cycles behind a firing; "
            "all of an input come at one time, those of tokens that it holds at once",
        ),
        (
            "x = need(self.inputs[0])\ny = Token(self.part(self.part(x.value)))",
            "17: no hardware can be made of self.part(self.part(x.value)); its values are those of inputs",
        ),
    ],
)
def test_text(tmp_path: Path, body: str, error: str) -> None:
    with pytest.raises(HardwareError) as caught:
        read(machine(tmp_path, body))
    assert str(caught.value) == f"{tmp_path}/odd.py:{error}"


def test_control_that_is_an_item_or_is_not(tmp_path: Path) -> None:
    odd = machine(
        tmp_path,
        "x = need(self.inputs[0])\ny = need(self.inputs[1])\nroom(self.outputs[0])\n"
        "put(self.outputs[0], Token(self.part(x.value) if x.stop else y.value))",
    )
    with pytest.raises(HardwareError) as caught:
        read(odd, one_word(2, 8, control=True))
    assert str(caught.value) == (
        f"{tmp_path}/odd.py:16: no hardware can be made of the words of output 0 out of input 1 or an item of input 0; "
        "they are those of one input, a constant instead, values side by side, or an item"
    )


def test_an_item_that_leaves_before_it_is_there(tmp_path: Path) -> None:
    rule = read(machine(tmp_path, PASSES.replace("0], x)", "0], Token(self.part(x.value)))")))
    with pytest.raises(HardwareError) as caught:
        rtlil.convert(Unit(rule), name="odd")
    error = "16: no hardware can be made of a latency of 0; what it sends is there after 1"
    assert str(caught.value) == f"{tmp_path}/odd.py:{error}"
