"""The expressions of a rule: numbers out of numbers, with what its path knows, and tokens."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hw.layout import TokenFormat
from hw.rules.facts import Facts, pick
from hw.rules.numbers import Number, add, both, const, either, equal, invert, less, node, subtract
from hw.rules.text import Text
from hw.rules.values import ANY, Carried, Channels, Literal, Movement, Port, Symbol, join
from step.language.tokens import Token

Env = dict[tuple[Any, ...], Any]
"""What a path has said so far: flags and headers by word and port, its names and state words."""

FLAGS = {"need", "take", "put", "room", "next", "COMPUTES", "ENDS", "fault"}
"""What is not said on a path is 0 there; of all else, nothing matters."""

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


def joined(test: Number, one: Env, other: Env, yes: Facts, no: Facts) -> Env:
    """What two paths have said: ``one`` where ``test`` holds; where a path is dead only needs and faults matter."""
    found: Env = {}
    for key in {**one, **other}:
        parts = []
        for env in (one, other):
            dead = env[("live",)] is const(0) and key[0] not in ("need", "fault")
            parts.append(env.get(key, const(0) if key[0] in FLAGS and not dead else ANY))
        found[key] = join(test, parts[0], parts[1], yes, no)
    return found


class Expressions:
    """What a rule says of the tokens in ``fronts``, by ``parameters`` and ``outputs``."""

    def __init__(
        self, text: Text, parameters: Mapping[str, Any], fronts: Sequence[Symbol], outputs: Sequence[TokenFormat]
    ) -> None:
        self.text, self.parameters, self.fronts, self.outputs = text, parameters, fronts, outputs
        self.present: dict[str, Any] = {}

    def call(self, call: ast.Call, env: Env, facts: Facts) -> Any:
        """What a word of the rule gives, and what it says."""
        raise NotImplementedError

    def truth(self, test: ast.expr, env: Env, facts: Facts) -> Number:
        """Whether ``test`` holds."""
        match test:
            case ast.BoolOp(op=operation, values=parts):
                every = isinstance(operation, ast.And)
                found = const(int(every))
                for each in parts:
                    said = dict(env)
                    more = self.truth(each, said, facts)
                    if said != env and each is not parts[0]:
                        self.text.refuse(each, f"{ast.unparse(each)} inside of a condition", "say it before that")
                    env.update(said)
                    found = both(found, more) if every else either(found, more)
                    behind = facts.assume(more, every)
                    if behind is None:
                        break
                    facts = behind
                return found
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return invert(self.truth(operand, env, facts))
        match self.value(test, env, facts):
            case Number() as found:
                if found.op == "const" or not found.is_flag:
                    return facts.simple(invert(equal(found, const(0))), 0)
                return found
            case Channels(ports=ports):
                found = const(0)
                for _, when in ports:
                    found = either(found, when)
                return found
            case tuple() | list() as listed:
                return const(int(bool(listed)))
        return self.text.refuse(test, f"{ast.unparse(test)} as a condition", "say `is None` of what may be missing")

    def number(self, expression: ast.expr, env: Env, facts: Facts) -> Number:
        """An expression that is a number."""
        found = self.value(expression, env, facts)
        if not isinstance(found, Number):
            self.text.refuse(expression, f"{ast.unparse(expression)} here", "a number is wanted")
        return found

    def value(self, expression: ast.expr, env: Env, facts: Facts) -> Any:
        """What ``expression`` stands for on a path with these ``facts``."""
        found = self._value(expression, env, facts)
        return facts.simple(found, 0) if isinstance(found, Number) else found

    def _value(self, expression: ast.expr, env: Env, facts: Facts) -> Any:
        match expression:
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=int() as number):
                return const(int(number))
            case ast.Name(id=name) if ("name", name) in env:
                return env["name", name]
            case ast.Name(id=name) if name in self.text.scope:
                return self._constant(expression, self.text.scope[name])
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._own(expression, name, env, facts)
            case ast.Attribute(value=ast.Name(id=name), attr=member) if isinstance(self.text.scope.get(name), type):
                return self._constant(expression, getattr(self.text.scope[name], member))
            case ast.Attribute(value=token, attr="stop" | "rank" | "done" | "has_value" | "value" as part):
                return self._part(expression, self.value(token, env, facts), part, facts)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self.truth(expression, env, facts)
            case ast.Compare():
                return self._compare(expression, env, facts)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operation, right=right):
                a, b = self.number(left, env, facts), self.number(right, env, facts)
                return add(a, b) if isinstance(operation, ast.Add) else subtract(a, b)
            case ast.IfExp():
                return self._either(expression, env, facts)
            case ast.Subscript(value=listed, slice=place):
                return self._entry(expression, self.value(listed, env, facts), self.number(place, env, facts), facts)
            case ast.Call():
                return self.call(expression, env, facts)
        hint = "it compares, adds and subtracts, and says the words of step.firing"
        return self.text.refuse(expression, ast.unparse(expression), hint)

    def _own(self, expression: ast.expr, name: str, env: Env, facts: Facts) -> Any:
        if name in self.present:
            present, changed = self.present[name], env.get(("next", name), const(0))
            return present if changed is const(0) else join(changed, env["word", name], present, facts, facts)
        if name in ("inputs", "outputs"):
            count = len(self.fronts if name == "inputs" else self.outputs)
            return Channels(name[:-1], tuple((port, const(1)) for port in range(count)))
        if name not in self.parameters:
            known = ", ".join(["inputs", "outputs", *self.parameters])
            self.text.refuse(expression, f"self.{name}", f"its parameters are {known}")
        return self._constant(expression, self.parameters[name])

    def _constant(self, expression: ast.expr, found: Any) -> Any:
        """What a parameter, or a name of the rule's file, stands for."""
        match found:
            case int():
                return const(int(found))
            case Token():
                stop, rank, done = (const(int(each)) for each in (found.stop, found.rank, found.done))
                return Symbol(stop, rank, done, Carried(const(int(found.has_value))))
            case tuple() | Movement():
                return found
            case np.ndarray() | Literal():
                literal = found if isinstance(found, Literal) else Literal.of(found)
                control = const(literal.items[0]) if len(literal.items) == 1 else ANY
                return Carried(const(1), literal, control)
        hint = "it names integers, tokens, values, and tuples of integers"
        return self.text.refuse(expression, ast.unparse(expression), hint)

    def _part(self, expression: ast.expr, token: Any, part: str, facts: Facts) -> Any:
        if not isinstance(token, Symbol):
            self.text.refuse(expression, ast.unparse(expression), "only tokens have parts")
        token = token.on(facts)
        if token.carries is ANY and part in ("value", "has_value"):
            return ANY
        return {
            "stop": token.stop,
            "rank": token.rank,
            "done": token.done,
            "value": token.carries,
            "has_value": ANY if token.carries is ANY else token.carries.there,
        }[part]

    def _compare(self, expression: ast.Compare, env: Env, facts: Facts) -> Number:
        match expression:
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as which], comparators=[ast.Constant(value=None)]):
                token = self.value(left, env, facts)
                there = const(0) if token is None else token.there
                return facts.simple(invert(there) if isinstance(which, ast.Is) else there, 0)
        found, a = const(1), self.number(expression.left, env, facts)
        for operation, right in zip(expression.ops, expression.comparators, strict=True):
            if type(operation) not in COMPARED:
                self.text.refuse(expression, ast.unparse(expression), "it compares numbers, and tokens with None")
            b = self.number(right, env, facts)
            found = both(found, facts.simple(COMPARED[type(operation)](a, b), 0))
            a = b
        return found

    def _either(self, expression: ast.IfExp, env: Env, facts: Facts) -> Any:
        test = self.truth(expression.test, env, facts)
        yes, no = facts.assume(test, True), facts.assume(test, False)
        if yes is None or no is None:
            return self.value(expression.body if no is None else expression.orelse, env, yes or no or facts)
        one, other = dict(env), dict(env)
        a, b = self.value(expression.body, one, yes), self.value(expression.orelse, other, no)
        env.update(joined(test, one, other, yes, no))
        return join(test, a, b, yes, no)

    def _entry(self, expression: ast.Subscript, listed: Any, index: Number, facts: Facts) -> Any:
        """An entry of a table, a channel, or a token of several."""
        lo, hi = facts.range(index)
        count = len(listed.ports if isinstance(listed, Channels) else listed)
        if lo < 0 or hi >= count:
            reach = f"it has {count} entries, and the index is between {lo} and {hi} here"
            self.text.refuse(expression, ast.unparse(expression), reach)
        if lo == hi:
            if isinstance(listed, Channels):
                return Port(listed.side, listed.ports[lo][0])
            return listed[lo] if isinstance(listed, list) else const(listed[lo])
        if not isinstance(listed, tuple):
            self.text.refuse(expression, ast.unparse(expression), "which one it is must be known without a run")
        if count > TABLE:
            self.text.refuse(expression, f"a table of {count} entries", f"it may have {TABLE}")
        return node("table", listed, index)

    def least(self, a: Number, b: Number, facts: Facts) -> Number:
        """The smaller one of two numbers."""
        test = facts.simple(less(a, b), 0)
        yes, no = facts.assume(test, True), facts.assume(test, False)
        if yes is None or no is None:
            return a if no is None else b
        return pick(test, a, b, yes, no)
