"""Rules of which no hardware can be made: the exact text, with file and line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.back import rtlil
from cases import cases
from filing import machine
from formats import one_word, rows, words
from raising import raising

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.rules.unit import Applying, Translated
from hw.rules.words import HardwareError
from step.firing.declared import Applied, Declared
from step.firing.item import Item
from step.firing.machine import Machine
from step.firing.words import side_by_side
from step.functions.elementwise import Add
from step.functions.select import SelectAll
from step.language.dtypes import INT8
from step.language.loops import Stops
from step.language.types import Tile, Tuple

HEAD = """\
from __future__ import annotations
from dataclasses import dataclass; from collections.abc import Callable; from typing import Any
from step.firing.machine import *
from step.firing.words import *
from step.language.faults import Fault, aligned, rows_of
from step.language.tokens import Token, empty
@dataclass(slots=True, eq=False, kw_only=True)
class Odd(Machine):
    count: int
    table: tuple[int, ...]
    apply: Callable[..., object]; part: Callable[..., object]
    index: int = 0; initial: Any = None; state: Any = None
    held: Token | None = None; other: Token | None = None; mask: Mask = 0
    notes: list[int] = ()
    def fire(self):
"""
PASSES = "x = need(self.inputs[0]); room(self.outputs[0]); take(self.inputs[0]); put(self.outputs[0], x)"
STREAM = one_word(2, 8)


def odd(tmp_path: Path, body: str) -> type[Machine]:
    """The machine of a file with this rule."""
    return machine(tmp_path / "odd.py", HEAD + "".join(f"        {line}\n" for line in body.split("\n")))


def read(machine: type[Machine], out: TokenFormat = STREAM) -> Translated:
    """The rule with two inputs and one output of ``out``, executed."""
    given = {"count": 3, "table": tuple(range(40)), "apply": print, "part": Item(Tuple((Tile(INT8),) * 2), 1)}
    rule = Translated.of(Declared(machine, given), (STREAM, one_word(0, 2, control=True)), (out,))
    assert rule.execution
    return rule


def test_what_passes_tokens_is_read(tmp_path: Path) -> None:
    assert read(odd(tmp_path, PASSES)).held == ()


REFUSED = Path(__file__).with_name("refusals.txt").read_text().rstrip().split("\n\n")
"""Rules, each with the line that is refused behind ``!``, and what is said of it."""


@pytest.mark.parametrize("refused", REFUSED)
def test_text(tmp_path: Path, refused: str) -> None:
    body, _, error = refused.partition("\n! ")
    line, _, text = error.partition(": ")
    with raising(HardwareError, f"{tmp_path}/odd.py:{line}: no hardware can be made of {text}"):
        read(odd(tmp_path, body), STREAM if "put(" in body else replace(STREAM, items=()))


def test_control_that_is_an_item_or_is_not(tmp_path: Path) -> None:
    made = odd(
        tmp_path,
        "x = need(self.inputs[0])\ny = need(self.inputs[1])\nroom(self.outputs[0])\n"
        "put(self.outputs[0], Token(self.part(x.value) if x.stop else y.value))",
    )
    text = (
        f"{tmp_path}/odd.py:16: no hardware can be made of the words of output 0 out of input 1 or an item of input 0; "
        "they are those of one input, a constant instead, values side by side, or an item"
    )
    with raising(HardwareError, text):
        read(made, one_word(2, 8, control=True))


def test_an_item_that_leaves_before_it_is_there(tmp_path: Path) -> None:
    rule = read(odd(tmp_path, PASSES.replace("0], x)", "0], Token(self.part(x.value)))")))
    error = "16: no hardware can be made of a latency of 0; what it sends is there after 1"
    with raising(HardwareError, f"{tmp_path}/odd.py:{error}"):
        rtlil.convert(Unit(rule), name="odd")


APPLIES = "x = need(self.inputs[0]); room(self.outputs[0]); take(self.inputs[0])\n"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("put(self.outputs[0], Token(self.apply(x.value, x.value)))",
         "17: no hardware can be made of self.apply(x.value, x.value); its operands are the values of all inputs"),
        ("y = self.apply(x.value)\nput(self.outputs[0], Token(self.apply(x.value)))",
         "18: no hardware can be made of a second self.apply(x.value); a firing has one at most"),
        ("put(self.outputs[0], Token(self.apply(x.value)))",
         "16: no hardware can be made of a result of a firing that does not compute; return COMPUTES"),
    ],
)  # fmt: skip
def test_results_that_no_datapath_has(tmp_path: Path, body: str, error: str) -> None:
    given = {"count": 3, "table": (1,), "part": print, "apply": Applied(SelectAll(1))}
    rule = Applying.of(Declared(odd(tmp_path, APPLIES + body), given), (STREAM,), (STREAM,))
    with raising(HardwareError, f"{tmp_path}/odd.py:{error}"):
        assert rule.execution


def test_a_reduction_that_does_not_begin(tmp_path: Path) -> None:
    body = "self.state = self.apply(self.state, x.value)\nput(self.outputs[0], Token(self.state))\nreturn COMPUTES"
    given = {"apply": Applied(Add(), reduces=True), "initial": Add().initial(Tile(INT8))}
    rule = Applying.of(Declared(odd(tmp_path, APPLIES + body), given), (STREAM,), (STREAM,))
    error = "a reduction that does not begin; its first operand is self.initial then"
    with raising(HardwareError, f"{tmp_path}/odd.py:16: no hardware can be made of {error}"):
        assert rule.execution


HELD = "x = need(self.inputs[0])\nheld = self.held\nif held is None:\n    take(self.inputs[0]); self.held = x; return\n"
PUTS = "room(self.outputs[0])\nput(self.outputs[0], held)\n"


def test_control_may_be_held_and_dropped_at_will(tmp_path: Path) -> None:
    made = odd(tmp_path, HELD.replace("inputs[0]", "inputs[1]") + PUTS + "take(self.inputs[1])\nreturn COMPUTES")
    assert read(made, one_word(0, 2, control=True)).held == (1,)


def test_control_that_is_held_has_no_words(tmp_path: Path) -> None:
    put = PUTS.replace("held)", "Token(self.apply(held.value, x.value)))") + "self.held = None\nreturn COMPUTES"
    made = odd(tmp_path, HELD.replace("inputs[0]", "inputs[1]") + put)
    rule = Translated.of(
        Declared(made, {"apply": side_by_side}), (words(0, 2), one_word(0, 2, control=True)), (words(0, 3),)
    )
    with pytest.raises(HardwareError) as caught:
        assert rule.execution
    assert str(caught.value) == (
        f"{tmp_path}/odd.py:21: no hardware can be made of self.apply(held.value, x.value); "
        "control that is held has no words: take it when it goes out"
    )


DYNAMIC = rows(1, 4)


@cases(
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
)  # fmt: skip
def test_time_of_words(
    body: str, reads: list[TokenFormat], writes: list[TokenFormat], line: int, error: str, tmp_path: Path
) -> None:
    rule = Translated.of(Declared(odd(tmp_path, body)), tuple(reads), tuple(writes))
    with raising(HardwareError, f"{tmp_path}/odd.py:{line}: no hardware can be made of {error}"):
        assert rule.execution


def test_control_that_is_gathered_takes_its_time(tmp_path: Path) -> None:
    made = odd(tmp_path, PASSES.replace("0], x)", "0], Token(self.part(x.value)))"))
    pair = Item(Tuple((Tile(INT8),) * 2), 1)
    rule = Translated.of(Declared(made, {"part": pair}, latency=2), (words(2, 2),), (one_word(2, 8, control=True),))
    with pytest.raises(HardwareError) as caught:
        assert rule.execution
    assert str(caught.value) == (
        f"{tmp_path}/odd.py:16: no hardware can be made of a value put in output 0 by a firing that does not compute; "
        "its words pass in the cycles behind the firing: return COMPUTES"
    )


COUNTS = """\
x = need(self.inputs[0]); room(self.outputs[0]); take(self.inputs[0])
put(self.outputs[0], Token(x.value, self.table[self.index], x.rank, x.done))
last = self.index == len(self.table) - 1
"""
GOES = "it goes from 0 to the last one, by one, and begins again or stays"


@cases(
    ("self.index = 1 if last else self.index + 1", "self.index for 6 entries", GOES),
    ("self.index = 0 if last or x.done else self.index + 1", "self.index for 6 entries", GOES),
    ("self.index = 0 if last or self.more[self.index] else self.index + 1",
     "self.more[self.index]", "a state word of its own goes through what it lists"),
)  # fmt: skip
def test_a_counter(change: str, what: str, hint: str, tmp_path: Path) -> None:
    head = HEAD.replace("table: tuple", "more: tuple[int, ...]; table: tuple")
    text = head + "".join(f"        {line}\n" for line in (COUNTS + change).split("\n"))
    made = machine(tmp_path / "odd.py", text)
    line = 1 + next(at for at, each in enumerate(text.split("\n")) if change in each)
    given = {"table": Stops((2, 3), 2), "more": Stops((3, 2), 2)}
    with raising(HardwareError, f"{tmp_path}/odd.py:{line}: no hardware can be made of {what}; {hint}"):
        assert Translated.of(Declared(made, given), (STREAM,), (STREAM,)).execution


def test_a_counter_begins_again_or_stays(tmp_path: Path) -> None:
    for change in ("self.index = 0 if last else self.index + 1", "if not last:\n    self.index += 1"):
        made = odd(tmp_path, COUNTS + change)
        assert Translated.of(Declared(made, {"table": Stops((2, 3), 2)}), (STREAM,), (STREAM,)).execution
