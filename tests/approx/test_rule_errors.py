"""What rules can not say: the exact text, with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import cases
from filing import machine
from raising import raising

from sim_approx.compiled.rule import TranslatedRule
from step.firing.machine import Machine
from step.firing.terms import RuleError

HEAD = """\
from __future__ import annotations
from dataclasses import dataclass
from typing import Any
from step.firing.machine import *
from step.firing.words import *
from step.language.tokens import DONE, Token, empty; from step.language.faults import aligned
@dataclass(slots=True, eq=False, kw_only=True)
class Odd(Machine):
    count: int
    table: tuple[int, ...]
    held: Token | None = None
"""


def odd(tmp_path: Path, body: str, fields: str = "") -> type[Machine]:
    """The machine of a file with this rule."""
    return machine(tmp_path / "odd.py", f"{HEAD}{fields}    def fire(self) -> int | None:\n        {body}\n")


@cases(
    ("while True: pass", ":13: a rule can not have a statement While; it has assignments, calls, if, for and return"),
    ("for at in range(2):\n            self.count = at\n        self.count = at",
     ":15: a rule can not have the name at here; nothing was assigned to it before"),
    ("self.table = (1,)", ":13: a rule can not have a change of self.table; it is ints, no state word"),
    ("self.nothing = 1",
     ":13: a rule can not have an assignment to self.nothing; it assigns to names and its own words"),
    ("room(self.nothing)", ":13: a rule can not have self.nothing; it has inputs, outputs, count, table, held"),
    ("take(self.count)", ":13: a rule can not have self.count here; it is int, and channel is wanted"),
    ("room(x)", ":13: a rule can not have the name x here; nothing was assigned to it before"),
    ("x = self.count < 'a'",
     ":13: a rule can not have 'a'; it compares and calculates, and says the words of step.firing"),
    ("x = self.count if self.held else 1",
     ":13: a rule can not have self.held as a condition; it is token; say `is None` of what may be missing"),
    ("x = self.count is None and self.table is None",
     ":13: a rule can not have self.table is None; only tokens, integers and banks may be missing"),
    ("for each in self.count: room(each)",
     ":13: a rule can not have self.count here; it is int, and channels is wanted"),
    ("self.count = self.count + (-4611686018427387904)",
     ":13: a rule can not have 4611686018427387904; its integers are smaller than 2**62"),
    ("return 7", ":13: a rule can not have the outcome 7; it returns COMPUTES, ENDS or None"),
    ("x = self.count in (1, 2)",
     ":13: a rule can not have self.count in (1, 2); it compares with ==, !=, <, <=, >, >= and `is None`"),
)  # fmt: skip
def test_text(line: str, error: str, tmp_path: Path) -> None:
    with raising(RuleError, f"{tmp_path}/odd.py{error}"):
        TranslatedRule(odd(tmp_path, line), lambda value: 0)


@cases("print(1)", "min(self.count)", "aligned()")
def test_calls(call: str, tmp_path: Path) -> None:
    text = rf"odd\.py:13: a rule can not have {re.escape(call)}; it calls its own functions of .*take"
    with pytest.raises(RuleError, match=text):
        TranslatedRule(odd(tmp_path, f"x = {call}"), lambda value: 0)


def test_fields(tmp_path: Path) -> None:
    text = (
        f"{tmp_path}/odd.py: Odd.other is dict[str, int], which no rule can have; "
        "what it can have is listed in step/firing/terms.py"
    )
    with raising(RuleError, text):
        TranslatedRule(odd(tmp_path, "pass", "    other: dict[str, int]\n"), lambda value: 0)
