"""Rules keep to the form of `step.firing.words`: a firing is all or nothing."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import pytest
from cases import cases
from test_rule_errors import odd

import step.rules
from sim_approx import units
from step.firing.machine import Machine
from step.firing.reading import read
from step.firing.terms import RuleTerm
from step.language.operator import OPERATORS

SEEN = {"front", "waiting", "oldest", "going"}
NEEDS = {"need", "need_all", "need_each", "need_any", "fault", "aligned", "same_rows", *SEEN}
EFFECTS = {"take", "put", "reserve", "pass_through", "begin", "fill", "lay", "drop", "write"}

CALCULATION, NEEDED, ROOM, DONE = range(4)
"""Phases of a firing: each word belongs to one, and they only go forward (calculation goes anywhere)."""

PHASES = {**dict.fromkeys(NEEDS, NEEDED), **dict.fromkeys(("room", "enter"), ROOM), **dict.fromkeys(EFFECTS, DONE)}


def rules() -> list[type[Machine]]:
    """All machines of operators but the source, which is written by hand, and those that units share."""
    found = []
    names = [
        f"{room.__name__}.{each.name}" for room in (step.rules, units) for each in pkgutil.iter_modules(room.__path__)
    ]
    for name in [*names, "sim_approx.memory.masters", "sim_approx.memory.off_chip"]:
        loaded = import_module(name)
        for each in vars(loaded).values():
            if isinstance(each, type) and issubclass(each, Machine) and each.__module__ == loaded.__name__:
                found.append(each)
    return [each for each in found if each.__name__ != "Source"]


class Form:
    """Follows all paths through a rule; ``phase`` is the furthest that any path has come to."""

    def __init__(self, statements: Iterable[RuleTerm]) -> None:
        self.phase = NEEDED
        self.problems: list[str] = []
        self.block(statements)

    def block(self, statements: Iterable[RuleTerm]) -> bool:
        """Follow ``statements``; returns whether they always leave the rule."""
        return any([self.follow(each) for each in statements])

    def follow(self, term: RuleTerm) -> bool:
        match term.op, *term.parts:
            case "if", test, body, orelse:
                self.follow(test)
                before = self.phase
                left = self.block(body)
                after, self.phase = self.phase, before
                right = self.block(orelse)
                self.phase = self.phase if left else after if right else max(after, self.phase)
                return left and right
            case "for", _, over, body:
                self.follow(over)
                self.block(body)
                self.block(body)
                return False
        for each in term.parts:
            if isinstance(each, RuleTerm):
                self.follow(each)
        phase = DONE if term.op in ("set", "note", "resize") else CALCULATION
        word = ""
        if term.op == "call":
            word = term.parts[0].__name__
            phase = PHASES.get(word, CALCULATION)
        if CALCULATION < phase < self.phase:
            self.problems.append(f"{word} comes too late")
        self.phase = max(self.phase, phase)
        return term.op == "return" or word == "fault"


@pytest.mark.parametrize("machine", rules(), ids=lambda each: each.__name__)
def test_rules(machine: type[Machine]) -> None:
    assert Form(read(machine).body).problems == []


def test_every_operator_has_a_rule() -> None:
    declared, own = ([each.name for each in pkgutil.iter_modules(room.__path__)] for room in (step.rules, units))
    assert sorted([*declared, *own]) == sorted(OPERATORS)


@cases(
    ("take(self.inputs[0])\n        need(self.inputs[0])", "need comes too late"),
    ("room(self.outputs[0])\n        need(self.inputs[0])", "need comes too late"),
    ("put(self.outputs[0], DONE)\n        room(self.outputs[0])", "room comes too late"),
    ("self.held = DONE\n        room(self.outputs[0])", "room comes too late"),
    ("self.resize(1)\n        room(self.outputs[0])", "room comes too late"),
    ("if self.count:\n            take(self.inputs[0])\n        room(self.outputs[0])", "room comes too late"),
    ("for each in self.inputs:\n            need(each)\n            take(each)", "need comes too late"),
)
def test_form_finds(body: str, problem: str, tmp_path: Path) -> None:
    assert problem in Form(read(odd(tmp_path, body)).body).problems
