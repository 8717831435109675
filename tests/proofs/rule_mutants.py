"""Mutants of a rule: the machine with one thing changed in its `fire`, which a proof must refute."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import textwrap
from collections.abc import Iterator
from typing import Any

from step.firing.machine import Machine

SWAPPED: dict[type, type] = {
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
LEFT_OUT = ("take", "fault")


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in place of ``node``: other comparisons, sums and junctions, the other arm, nothing at all."""
    match node:
        case ast.Compare(ops=operations):
            for place, operation in enumerate(operations):
                changed = copy.deepcopy(node)
                changed.ops[place] = SWAPPED[type(operation)]()
                yield changed
        case ast.BinOp() | ast.BoolOp():
            changed = copy.deepcopy(node)
            changed.op = SWAPPED[type(node.op)]()
            yield changed
        case ast.IfExp(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in LEFT_OUT:
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute()]):
            yield ast.Pass()
        case ast.Return(value=ast.Name()):
            yield ast.Return(None)


class _Replaced(ast.NodeTransformer):
    """Has ``new`` in the place of ``old``."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return ast.copy_location(self._new, node) if node is self._old else self.generic_visit(node)


def mutants(machine: type[Machine]) -> Iterator[tuple[str, type[Machine]]]:
    """Every mutant of ``machine``, called after what is changed, in the order of the lines."""
    source = textwrap.dedent(inspect.getsource(machine.fire))
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    nodes = [node for each in function.body for node in ast.walk(each) if hasattr(node, "lineno")]
    nodes.sort(key=lambda each: (each.lineno, each.col_offset))  # type: ignore[attr-defined]
    for node in nodes:
        for new in changes(node):
            place = f"{node.lineno}:{node.col_offset}"  # type: ignore[attr-defined]
            name = f"{place} {ast.unparse(node)} -> {ast.unparse(new)}"
            tree = _Replaced(node, new).visit(function)
            yield name, _made(machine, ast.unparse(ast.fix_missing_locations(tree)), name)
            function = _Replaced(new, node).visit(tree)


def _made(machine: type[Machine], text: str, name: str) -> type[Machine]:
    """``machine`` with the rule in ``text``, which readers of its source find."""
    file = f"<{machine.__name__}, mutant {name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), machine.fire.__globals__, scope)
    members = {"__slots__": (), "fire": scope["fire"], "__module__": machine.__module__}
    return type(machine.__name__, (machine,), members)
