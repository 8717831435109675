"""Mutants: one thing changed in one place of the source."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path

ROOMS = {"step": 60, "hw": 40, "sim_approx": 35, "cosim": 25, "sim_published": 20, "step_models": 20}
"""How many mutants of each room; the small ones get more than their share of the lines."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.Pow: ast.Mult,
}  # fmt: skip
EXTREMES = {"min": "max", "max": "min"}
TEXT = (ast.JoinedStr, ast.Assert, ast.AnnAssign, ast.arg, ast.Raise, ast.Import, ast.ImportFrom)
"""What only says something, or tells a type checker; of an `ast.AnnAssign` the value is left."""


@dataclass(frozen=True)
class Mutant:
    """``new`` in place of the bytes ``begin`` to ``end`` of the file ``path``, which are ``old``."""

    path: str
    begin: int
    end: int
    lines: tuple[int, int]
    old: str
    new: str

    @property
    def room(self) -> str:
        return self.path.partition("/")[0]

    def __str__(self) -> str:
        return f"{self.path}:{self.lines[0]}: {' '.join(self.old.split())} -> {self.new}"

    def apply(self, source: bytes) -> bytes:
        """``source`` of the file with the change."""
        assert source[self.begin : self.end].decode() == self.old
        return source[: self.begin] + self.new.encode() + source[self.end :]


def chosen(root: Path, seed: int = 0) -> list[Mutant]:
    """The mutants of every room, those of different rooms by turns."""
    found: list[tuple[float, Mutant]] = []
    for room, count in ROOMS.items():
        files = sorted((root / room).rglob("*.py"))
        mutants = [each for path in files for each in of_source(path.read_bytes(), path.relative_to(root).as_posix())]
        picked = random.Random(f"{seed} {room}").sample(mutants, count)
        found += [((at + 0.5) / count, each) for at, each in enumerate(picked)]
    return [each for _, each in sorted(found, key=lambda placed: placed[0])]


def of_source(source: bytes, path: str) -> Iterator[Mutant]:
    """All mutants of a file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, new in _changes(ast.parse(source), inside=False):
        assert node.end_lineno is not None and node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old = source[begin:end].decode()
        text = ast.unparse(new) if isinstance(new, ast.stmt) else f"({ast.unparse(new)})"
        yield Mutant(path, begin, end, (node.lineno, node.end_lineno), old, text)


def _changes(node: ast.AST, inside: bool) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr | ast.stmt]]:
    """Nodes in ``node`` and what takes their place; ``inside`` of a function, statements are deleted, too."""
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield from _changes(node.value, inside)
        return
    if isinstance(node, TEXT) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        return
    if isinstance(node, ast.expr):
        yield from ((node, new) for new in _expressions(node))
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test, ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield node, ast.Return(None)
    if inside and isinstance(node, ast.stmt) and _is_work(node):
        yield node, ast.Pass()
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for name, field in ast.iter_fields(node):
        if name in ("decorator_list", "returns", "annotation"):
            continue
        for each in field if isinstance(field, list) else [field]:
            if isinstance(each, ast.AST):
                yield from _changes(each, inside or is_function)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_work(node: ast.stmt) -> bool:
    """Whether ``node`` is a statement that can be deleted: without one that names a thing, nothing runs at all."""
    if isinstance(node, ast.Assign):
        return not all(isinstance(each, ast.Name | ast.Tuple) for each in node.targets)
    return isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant))


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    """Expressions in the place of ``node``."""
    new = copy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in COMPARISONS:
        new.ops = [COMPARISONS[type(new.ops[0])](), *new.ops[1:]]
        yield new
    elif isinstance(new, ast.BinOp) and type(new.op) in ARITHMETIC and not isinstance(new.left, ast.JoinedStr):
        new.op = ARITHMETIC[type(new.op)]()
        yield new
    elif isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        yield new
    elif isinstance(new, ast.Call) and isinstance(new.func, ast.Name) and new.func.id in EXTREMES:
        new.func = ast.Name(EXTREMES[new.func.id])
        yield new
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool):
        yield ast.Constant(not new.value)
    elif isinstance(new, ast.Constant) and isinstance(new.value, int):
        yield from (ast.Constant(new.value + 1), ast.Constant(new.value - 1))
