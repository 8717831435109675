"""What rules can not say: the exact text, with file and line."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType

import pytest
from cases import cases
from filing import filed
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
from step.language.tokens import DONE, Token, empty
@dataclass(slots=True, eq=False, kw_only=True)
class Odd(Machine):
    count: int
    table: tuple[int, ...]
    held: Token | None = None
"""


def machine(tmp_path: Path, text: str) -> type[Machine]:
    """The machine class of a file with this text."""
    path = filed(tmp_path / "odd.py", text)
    linecache.checkcache()
    module = ModuleType("odd")
    module.__file__ = str(path)
    sys.modules["odd"] = module
    exec(compile(text, str(path), "exec"), vars(module))
    found: type[Machine] = module.Odd
    return found


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
    odd = machine(tmp_path, f"{HEAD}    def fire(self) -> int | None:\n        {line}\n")
    with raising(RuleError, f"{tmp_path}/odd.py{error}"):
        TranslatedRule(odd, lambda value: 0)


def test_calls(tmp_path: Path) -> None:
    odd = machine(tmp_path, f"{HEAD}    def fire(self) -> int | None:\n        print(1)\n")
    with pytest.raises(
        RuleError, match=r"odd\.py:13: a rule can not have print\(1\); it calls its own functions of .*take"
    ):
        TranslatedRule(odd, lambda value: 0)


def test_fields(tmp_path: Path) -> None:
    odd = machine(tmp_path, f"{HEAD}    other: dict[str, int]\n    def fire(self) -> int | None:\n        pass\n")
    with pytest.raises(RuleError) as caught:
        TranslatedRule(odd, lambda value: 0)
    assert str(caught.value) == (
        f"{tmp_path}/odd.py: Odd.other is dict[str, int], which no rule can have; "
        "what it can have is listed in step/firing/terms.py"
    )
