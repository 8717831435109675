"""Rules of which no hardware can be made: the exact text, with file and line."""

from __future__ import annotations

import linecache
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from amaranth.back import rtlil
from formats import one_word, rows, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.rules.unit import Translated
from hw.rules.words import HardwareError
from step.firing.declared import Declared
from step.firing.item import Item
from step.firing.machine import Machine
from step.firing.words import side_by_side
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


LATE = "; needs and faults come first, then rooms, then what is taken, put and changed"
ONCE = "; what is held is put once, and held no longer then"
FIRST = "; put what self.held holds first"
NEXT = "x = need(self.inputs[0])\ntake(self.inputs[0])\n"
HELD = "x = need(self.inputs[0])\nheld = self.held\nif held is None:\n    take(self.inputs[0]); self.held = x; return\n"
PUTS = "room(self.outputs[0])\nput(self.outputs[0], held)\n"


@pytest.mark.parametrize(
    ("body", "line", "error"),
    [
        (NEXT + "y = need(self.inputs[1])", 18, "a need that comes too late" + LATE),
        (NEXT + "if x.done: fault(Fault.MISSING_DATA)", 18, "a fault that comes too late" + LATE),
        (NEXT + PUTS.replace("held", "x"), 18, "a room that comes too late" + LATE),
        (
            "for each in self.inputs:\n    need(each)\n    take(each)",
            17, "a need that comes too late" + LATE,
        ),
        (
            "room(self.outputs[0])\ntokens = need_all(self.inputs)\n"
            "x = aligned(*tokens)\nput(self.outputs[0], x)\nreturn COMPUTES",
            17, "a need that comes too late" + LATE,
        ),
        (
            "take(self.inputs[0])",
            16, "a take of input 0 without need; say need of it before",
        ),
        (
            "x = need(self.inputs[0])\nroom(self.outputs[0])\nput(self.outputs[0], self.held)\n"
            "take(self.inputs[0])\nself.held = x\nreturn COMPUTES",
            21, "a put in output 0 of what may be None; ask before whether it `is None`",
        ),
        (
            HELD + PUTS + "return COMPUTES",
            22, "a value in self.held that is put and held" + ONCE,
        ),
        (
            "x = need(self.inputs[0])\nif self.held is None:\n    room(self.outputs[0])\n    take(self.inputs[0])\n"
            "    put(self.outputs[0], x)\n    self.held = x\n    return COMPUTES\n"
            "room(self.outputs[0])\nput(self.outputs[0], self.held)\nself.held = None\nreturn COMPUTES",
            22, "a value of input 0 that is put, and held in self.held" + ONCE,
        ),
        (
            HELD + "take(self.inputs[0])\nself.held = x",
            21, "a value in self.held that is held no longer and was not put"
            + FIRST + ": a value that is not to go out is taken where none is held",
        ),
        (
            HELD + "self.held = None\nreturn",
            21, "a value in self.held that is held no longer and was not put"
            + FIRST + ": a value that is not to go out is taken where none is held",
        ),
        (
            HELD + PUTS + "self.held = x\nreturn COMPUTES",
            23, "a value of input 0 in self.held that is not taken; take what is held from now on",
        ),
        (
            HELD + "room(self.outputs[0])\ntake(self.inputs[0])\nput(self.outputs[0], x)\nreturn COMPUTES",
            23, "a value of input 0 that is put ahead of the one in self.held"
            + FIRST + ": words leave in the order in which they came",
        ),
        (
            HELD + "take(self.inputs[0])",
            20, "a value of input 0 that is taken, and goes nowhere, behind the one in self.held"
            + FIRST + ", and take the other in a firing of its own, in which nothing is held",
        ),
        (
            HELD + PUTS + "take(self.inputs[0])\nself.held = None\nreturn COMPUTES",
            24, "a value of input 0 that is taken, and goes nowhere, behind the one in self.held"
            + FIRST + ", and take the other in a firing of its own, in which nothing is held",
        ),
        (
            "x = need(self.inputs[0])\nroom(self.outputs[0])\ntake(self.inputs[0])\n"
            "put(self.outputs[0], Token(x.stop) if x.stop else x)\nreturn COMPUTES",
            16, "the words of output 0 out of input 0 or a number that is computed; "
            "they are those of one input, a constant instead, values side by side, or an item",
        ),
    ],
)  # fmt: skip
def test_order_of_words_and_of_values(tmp_path: Path, body: str, line: int, error: str) -> None:
    with pytest.raises(HardwareError) as caught:
        read(machine(tmp_path, body), STREAM if "put(" in body else replace(STREAM, items=()))
    assert str(caught.value) == f"{tmp_path}/odd.py:{line}: no hardware can be made of {error}"


def test_control_may_be_held_and_dropped_at_will(tmp_path: Path) -> None:
    odd = machine(tmp_path, HELD.replace("inputs[0]", "inputs[1]") + PUTS + "take(self.inputs[1])\nreturn COMPUTES")
    assert read(odd, one_word(0, 2, control=True)).held == (1,)


def test_control_that_is_held_has_no_words(tmp_path: Path) -> None:
    put = PUTS.replace("held)", "Token(self.pair(held.value, x.value)))") + "self.held = None\nreturn COMPUTES"
    odd = machine(tmp_path, HELD.replace("inputs[0]", "inputs[1]") + put)
    rule = Translated.of(
        Declared(odd, {"pair": side_by_side}), (words(0, 2), one_word(0, 2, control=True)), (words(0, 3),)
    )
    with pytest.raises(HardwareError) as caught:
        assert rule.execution
    assert str(caught.value) == (
        f"{tmp_path}/odd.py:21: no hardware can be made of self.pair(held.value, x.value); "
        "control that is held has no words: take it when it goes out"
    )


DYNAMIC = rows(1, 4)


@pytest.mark.parametrize(
    ("body", "reads", "writes", "line", "error"),
    [
        (
            PASSES, [words(1, 2)], [words(1, 2)],
            16, "a value put in output 0 by a firing that does not compute; "
            "its words pass in the cycles behind the firing: return COMPUTES",
        ),
        (
            "x = need(self.inputs[0]); y = need(self.inputs[1])\nfor each in self.outputs: room(each)\n"
            "for each in self.inputs: take(each)\nput(self.outputs[0], x)\nput(self.outputs[1], y)\nreturn COMPUTES",
            [DYNAMIC, DYNAMIC], [DYNAMIC, DYNAMIC],
            16, "the rows of different tiles in outputs 0 and 1; a firing takes the time of one tile",
        ),
        (
            PASSES.replace("; put", "\nput") + "\nreturn COMPUTES",
            [DYNAMIC], [DYNAMIC],
            18, "a token put in output 0 without the rows of the firing; "
            "a firing that computes takes the time of the tile that it puts",
        ),
        (
            "x = need(self.inputs[0])\nif x.stop:\n    take(self.inputs[0])\n    return COMPUTES\n"
            "room(self.outputs[0]); take(self.inputs[0])\nput(self.outputs[0], x)\n"
            "if x.has_value: return COMPUTES",
            [DYNAMIC], [DYNAMIC],
            19, "the time of a firing that computes without rows; "
            "it puts a tile of dynamic size, or names one by self.resize",
        ),
    ],
)  # fmt: skip
def test_time_of_words(
    tmp_path: Path, body: str, reads: list[TokenFormat], writes: list[TokenFormat], line: int, error: str
) -> None:
    rule = Translated.of(Declared(machine(tmp_path, body)), tuple(reads), tuple(writes))
    with pytest.raises(HardwareError) as caught:
        assert rule.execution
    assert str(caught.value) == f"{tmp_path}/odd.py:{line}: no hardware can be made of {error}"


def test_control_that_is_gathered_takes_its_time(tmp_path: Path) -> None:
    odd = machine(tmp_path, PASSES.replace("0], x)", "0], Token(self.part(x.value)))"))
    pair = Item(Tuple((Tile(INT8),) * 2), 1)
    rule = Translated.of(Declared(odd, {"part": pair}, latency=2), (words(2, 2),), (one_word(2, 8, control=True),))
    with pytest.raises(HardwareError) as caught:
        assert rule.execution
    assert str(caught.value) == (
        f"{tmp_path}/odd.py:16: no hardware can be made of a value put in output 0 by a firing that does not compute; "
        "its words pass in the cycles behind the firing: return COMPUTES"
    )
