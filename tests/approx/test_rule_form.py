"""Rules keep to the form of `step.firing.words`: no time, and a firing is all or nothing."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import textwrap
from importlib import import_module

import pytest

import step.rules
from sim_approx import units
from step.firing.machine import Machine
from step.language.operator import OPERATORS

NEEDS = {"need", "need_all", "need_oldest", "front", "oldest", "going", "fault", "aligned", "same_rows"}
EFFECTS = {"take", "put", "reserve", "pass_through", "begin", "fill", "lay", "drop", "write"}
PLAIN = {
    "Token", "empty", "min", "len", "range", "lowest", "chosen", "several", "without", "only", "values", "all_done",
    "number", "rows_of", "targets_in", "entry", "page_of", "page_count",
}  # fmt: skip
"""What a rule may call besides the words: pure functions of control."""

VALUES = {"apply", "update", "expand", "part", "pair", "pieces", "piece", "value", "item", "see"}
"""Parameters that are functions; they give values, or a token for a token."""

NOTES = {"append"}
"""Only on lists that the rule itself never reads."""

HINT = "what it may call is listed at the head of tests/approx/test_rule_form.py: PLAIN, VALUES"

STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.Return)
TIME = {"clock", "now", "latency", "interval", "available", "tokens", "space", "entering", "freed", "capacity"}

CALCULATION, NEEDED, ROOM, DONE = range(4)
"""Phases of a firing: each word belongs to one, and they only go forward (calculation goes anywhere)."""


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


class Form(ast.NodeVisitor):
    """Follows all paths through a rule; ``phase`` is the furthest that any path has come to."""

    def __init__(self) -> None:
        self.phase = NEEDED
        self.problems: list[str] = []

    def reach(self, phase: int, node: ast.AST, what: str) -> None:
        if phase < self.phase:
            self.problems.append(f"line {getattr(node, 'lineno', 0)}: {what} comes too late")
        self.phase = max(self.phase, phase)

    def block(self, statements: list[ast.stmt]) -> bool:
        """Follow ``statements``; returns whether they always leave the rule."""
        for each in statements:
            if not isinstance(each, STATEMENTS):
                self.problems.append(f"line {each.lineno}: a rule has no {type(each).__name__}")
            elif isinstance(each, ast.If):
                self.visit(each.test)
                before = self.phase
                left = self.block(each.body)
                after, self.phase = self.phase, before
                right = self.block(each.orelse)
                if left and right and each.orelse:
                    return True
                self.phase = self.phase if left else after if right else max(after, self.phase)
            elif isinstance(each, ast.For):
                self.visit(each.iter)
                self.block(each.body)
                self.block(each.body)
            else:
                self.visit(each)
                if isinstance(each, ast.Return):
                    return True
                if isinstance(each, ast.Assign):
                    for target in each.targets:
                        self.assigned(target)
                if isinstance(each, ast.AugAssign):
                    self.assigned(each.target)
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
                    called = each.value.func
                    if isinstance(called, ast.Name) and called.id == "fault":
                        return True
        return False

    def assigned(self, target: ast.expr) -> None:
        match target:
            case ast.Name():
                pass
            case ast.Attribute(value=ast.Name(id="self")):
                self.reach(DONE, target, f"state word {target.attr}")
            case _:
                self.problems.append(f"line {target.lineno}: a rule changes nothing but its own words")

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id=name) if name in NEEDS:
                self.reach(NEEDED, node, name)
            case ast.Name(id="room" | "enter" as name):
                self.reach(ROOM, node, name)
            case ast.Name(id=name) if name in EFFECTS:
                self.reach(DONE, node, name)
            case ast.Name(id=name) if name in PLAIN:
                pass
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in VALUES:
                pass
            case ast.Attribute(value=ast.Name(id="self"), attr="resize"):
                self.reach(DONE, node, "resize")
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")), attr=name) if name in NOTES:
                self.reach(DONE, node, name)
            case _:
                self.problems.append(f"line {node.lineno}: a rule can not call {ast.unparse(node.func)} ({HINT})")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        if node.attr in TIME:
            self.problems.append(f"line {node.lineno}: a rule knows nothing of {node.attr}")


def problems(source: str) -> list[str]:
    """What is wrong with the rule in ``source``."""
    (function,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(function, ast.FunctionDef)
    form = Form()
    form.block(function.body)
    return form.problems


@pytest.mark.parametrize("machine", rules(), ids=lambda each: each.__name__)
def test_rules(machine: type[Machine]) -> None:
    assert problems(inspect.getsource(machine.fire)) == []


def test_every_operator_has_a_rule() -> None:
    declared, own = ([each.name for each in pkgutil.iter_modules(room.__path__)] for room in (step.rules, units))
    assert sorted([*declared, *own]) == sorted(OPERATORS)


@pytest.mark.parametrize(
    "body, problem",
    [
        ("take(self.inputs[0])\n    need(self.inputs[0])", "need comes too late"),
        ("room(self.outputs[0])\n    need(self.inputs[0])", "need comes too late"),
        ("put(self.outputs[0], x)\n    room(self.outputs[0])", "room comes too late"),
        ("self.held = x\n    room(self.outputs[0])", "room comes too late"),
        ("self.resize(x)\n    room(self.outputs[0])", "room comes too late"),
        ("if x:\n        take(self.inputs[0])\n    room(self.outputs[0])", "room comes too late"),
        ("for each in self.inputs:\n        need(each)\n        take(each)", "need comes too late"),
        ("while True:\n        pass", "a rule has no While"),
        ("return self.clock.now", "knows nothing of now"),
        ("print(1)", f"a rule can not call print ({HINT})"),
        ("self.inputs[0].taken = 3", "changes nothing but its own words"),
    ],
)
def test_lint_finds(body: str, problem: str) -> None:
    assert any(problem in each for each in problems(f"def fire(self):\n    {body}"))
