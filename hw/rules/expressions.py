"""The expressions of a rule: numbers out of numbers, with what its path knows, and tokens."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hw.links.layout import TokenFormat
from hw.rules.numbers import Number, add, both, const, either, equal, invert, less, node, subtract
from hw.rules.values import ANY, Arriving, Carried, Literal, Path, Port, Symbol, join, joined, known
from hw.rules.words import Text
from step.language.tokens import NOTHING, Token

SOURCE = 2
"""The source that input 0 is, and behind the inputs what is held of each; smaller numbers would be taken for truth."""

TABLE = 32
"""A table with more entries becomes gates by the hundred."""

COMPARED: Mapping[type, Callable[[Number, Number], Number]] = {
    ast.Eq: equal,
    ast.NotEq: lambda a, b: invert(equal(a, b)),
    ast.Lt: less,
    ast.GtE: lambda a, b: invert(less(a, b)),
    ast.Gt: lambda a, b: less(b, a),
    ast.LtE: lambda a, b: invert(less(b, a)),
}


class Expressions:
    """Expressions of a rule over the tokens in ``fronts``, by ``parameters`` and ``outputs``.

    ``sources`` are all that words come from: inputs, parts of them and constants, each by its number.
    """

    def __init__(
        self, text: Text, parameters: Mapping[str, Any], fronts: Sequence[Symbol], outputs: Sequence[TokenFormat]
    ) -> None:
        self.text, self.parameters, self.fronts, self.outputs = text, parameters, fronts, outputs
        self.present: dict[str, Any] = {}
        ports = range(len(fronts))
        in_front, held = [Arriving((port,)) for port in ports], [Arriving((port,), held=(port,)) for port in ports]
        self.sources: list[Any] = [*[None] * SOURCE, *in_front, *held]

    def source(self, words: Literal | Arriving | str) -> Number:
        """The number of a source that is no input."""
        if words not in self.sources:
            self.sources.append(words)
        return const(self.sources.index(words))

    def call(self, call: ast.Call, path: Path) -> Any:
        """The value of a word of the rule, which also says something."""
        raise NotImplementedError

    def truth(self, test: ast.expr, path: Path) -> Number:
        """Whether ``test`` holds."""
        match test:
            case ast.BoolOp(op=operation, values=parts):
                every = isinstance(operation, ast.And)
                found, way = const(int(every)), path
                for each in parts:
                    more = self.truth(each, way)
                    if way.said != path.said:
                        self.text.refuse(each, f"{ast.unparse(each)} inside of a condition", "say it before that")
                    found = both(found, more) if every else either(found, more)
                    behind = way.fork(more)[0 if every else 1]
                    if behind is None:
                        break
                    way = behind
                return found
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return invert(self.truth(operand, path))
        match self.value(test, path):
            case Number() as found:
                return found if found.is_flag else path.facts.simple(invert(equal(found, const(0))), 0)
            case list() as ports if all(isinstance(each, Port) for each in ports):
                found = const(0)
                for each in ports:
                    found = either(found, each.when)
                return found
        return self.text.refuse(test, f"{ast.unparse(test)} as a condition", "say `is None` of what may be missing")

    def number(self, expression: ast.expr, path: Path) -> Number:
        """An expression that is a number."""
        found = self.value(expression, path)
        if not isinstance(found, Number):
            self.text.refuse(expression, f"{ast.unparse(expression)} here", "a number is wanted")
        return found

    def value(self, expression: ast.expr, path: Path) -> Any:
        """The meaning of ``expression`` on ``path``, as far as it is known there."""
        return known(self._value(expression, path), path.facts)

    def _value(self, expression: ast.expr, path: Path) -> Any:
        match expression:
            case Known(value):
                return value
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=int() as number):
                return const(int(number))
            case ast.Name(id=name) if ("name", name) in path.said:
                return path.said["name", name]
            case ast.Name(id=name) if name in self.text.scope:
                return self._constant(expression, self.text.scope[name])
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._own(expression, name, path)
            case ast.Attribute(value=ast.Name(id=name), attr=member) if isinstance(self.text.scope.get(name), type):
                return self._constant(expression, getattr(self.text.scope[name], member))
            case ast.Attribute(value=token, attr="stop" | "rank" | "done" | "has_value" | "value" as part):
                return self._part(expression, self.value(token, path), part)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self.truth(expression, path)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as which], comparators=[ast.Constant(value=None)]):
                token = self.value(left, path)
                there = const(0) if token is None else token.there
                return invert(there) if isinstance(which, ast.Is) else there
            case ast.Compare():
                return self._compare(expression, path)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operation, right=right):
                a, b = self.number(left, path), self.number(right, path)
                return add(a, b) if isinstance(operation, ast.Add) else subtract(a, b)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.either(self.truth(test, path), body, orelse, path)
            case ast.Subscript(value=listed, slice=place):
                return self._entry(expression, self.value(listed, path), self.number(place, path), path)
            case ast.Call():
                return self.call(expression, path)
        hint = "it compares, adds and subtracts, and says the words of step.firing"
        return self.text.refuse(expression, ast.unparse(expression), hint)

    def either(self, test: Number, body: ast.expr, orelse: ast.expr, path: Path) -> Any:
        """``body`` where ``test`` holds, else ``orelse``."""
        yes, no = path.fork(test)
        if yes is None or no is None:
            return self.value(body if no is None else orelse, path)
        a, b = self.value(body, yes), self.value(orelse, no)
        path.said.update(joined(test, yes, no))
        return join(test, a, b, yes.facts, no.facts)

    def _own(self, expression: ast.expr, name: str, path: Path) -> Any:
        if name in self.present:
            present, changed = self.present[name], path.flag("next", name)
            if changed is const(0):
                return present
            return join(changed, path.said["word", name], present, path.facts, path.facts)
        if name in ("inputs", "outputs"):
            count = len(self.fronts if name == "inputs" else self.outputs)
            return [Port(name[:-1], number) for number in range(count)]
        if name not in self.parameters:
            self.text.refuse(expression, f"self.{name}", f"it has {', '.join(['inputs', 'outputs', *self.parameters])}")
        return self._constant(expression, self.parameters[name])

    def _constant(self, expression: ast.expr, found: Any) -> Any:
        """The meaning of a parameter, or of a name of the rule's file."""
        match found:
            case int():
                return const(int(found))
            case Token(value, stop, rank, done) if value is NOTHING:
                return Symbol(const(stop), const(rank), const(int(done)), Carried(const(0)))
            case tuple():
                return [const(int(each)) for each in found]
            case np.ndarray() | Literal():
                literal = found if isinstance(found, Literal) else Literal.of(found)
                control = const(literal.items[0]) if len(literal.items) == 1 else ANY
                return Carried(const(1), self.source(literal), control)
        return self.text.refuse(
            expression, ast.unparse(expression), "it names integers, tuples of them, values, Done and empties"
        )

    def _part(self, expression: ast.expr, token: Any, part: str) -> Any:
        if not isinstance(token, Symbol):
            self.text.refuse(expression, ast.unparse(expression), "only tokens have parts")
        if part in ("value", "has_value"):
            return token.carries if part == "value" or token.carries is ANY else token.carries.there
        return getattr(token, part)

    def _compare(self, expression: ast.Compare, path: Path) -> Number:
        found, a = const(1), self.number(expression.left, path)
        for operation, right in zip(expression.ops, expression.comparators, strict=True):
            if type(operation) not in COMPARED:
                self.text.refuse(expression, ast.unparse(expression), "it compares numbers, and tokens with None")
            b = self.number(right, path)
            found = both(found, path.facts.simple(COMPARED[type(operation)](a, b), 0))
            a = b
        return found

    def _entry(self, expression: ast.Subscript, listed: list[Any], index: Number, path: Path) -> Any:
        """An entry of a table, or a channel."""
        lo, hi = path.facts.range(index)
        if lo < 0 or hi >= len(listed):
            reach = f"it has {len(listed)} entries, and the index is between {lo} and {hi} here"
            self.text.refuse(expression, ast.unparse(expression), reach)
        if lo == hi:
            return listed[lo]
        if not isinstance(listed[0], Number):
            self.text.refuse(expression, ast.unparse(expression), "which one it is must be known without a run")
        if len(listed) > TABLE:
            self.text.refuse(expression, f"a table of {len(listed)} entries", f"it may have {TABLE}")
        return node("table", tuple(each.lo for each in listed), index)


class Known(ast.expr):
    """An expression that stands for a ``value`` which is known."""

    __match_args__ = ("known",)

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.known = value
