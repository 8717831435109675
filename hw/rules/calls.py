"""The words of rules: what each of them gives, and what it says."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from hw.rules.expressions import Env, Expressions
from hw.rules.facts import Facts, never
from hw.rules.numbers import Number, const, either, invert, leaf
from hw.rules.values import ANY, Carried, Channels, Literal, Moved, Movement, Port, Symbol
from step.firing import words
from step.language.faults import aligned
from step.language.tokens import Token, empty

PLAIN = {
    words.need: "need",
    words.need_all: "need_all",
    words.room: "room",
    words.take: "take",
    words.put: "put",
    words.values: "values",
    words.all_done: "all_done",
    words.chosen: "chosen",
    aligned: "aligned",
    Token: "token",
    empty: "empty",
    min: "min",
    len: "len",
    range: "range",
}
"""By function, the method that does it here."""


class Calls(Expressions):
    """The calls of a rule."""

    def call(self, call: ast.Call, env: Env, facts: Facts) -> Any:
        if not call.keywords:
            arguments = [self._argument(each, env, facts) for each in call.args]
            match call.func:
                case ast.Name(id=name) if ("name", name) not in env:
                    word = self.text.scope.get(name, vars(builtins).get(name))
                    if callable(word) and word in PLAIN:
                        return getattr(self, f"_{PLAIN[word]}")(call, env, facts, *arguments)
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    movement = self.parameters.get(name)
                    if isinstance(movement, Movement):
                        return self._moved(call, movement, arguments)
        known = ", ".join(sorted(set(PLAIN.values()) - {"token"} | {"fault", "Token"}))
        return self.text.refuse(call, ast.unparse(call), f"it says {known}, and functions that only move words")

    def _argument(self, argument: ast.expr, env: Env, facts: Facts) -> Any:
        return self.value(argument.value if isinstance(argument, ast.Starred) else argument, env, facts)

    def _say(self, call: ast.Call, env: Env, facts: Facts, word: str, port: Any, side: str) -> int:
        """Note that ``word`` is said of ``port``."""
        if not isinstance(port, Port) or port.side != side:
            self.text.refuse(call, ast.unparse(call), f"{word} is said of one {side}")
        if word in ("take", "put") and not never(env.get((word, port.number), const(0)), facts):
            self.text.refuse(call, f"a second {word} of {side} {port.number}", "a firing has one at most")
        env[word, port.number] = const(1)
        return port.number

    # -- what is said --------------------------------------------------------------------------------------------------

    def _need(self, call: ast.Call, env: Env, facts: Facts, port: Any) -> Symbol:
        return self.fronts[self._say(call, env, facts, "need", port, "input")]

    def _need_all(self, call: ast.Call, env: Env, facts: Facts, channels: Channels) -> list[Symbol]:
        return [self._need(call, env, facts, Port(channels.side, number)) for number, _ in channels.ports]

    def _room(self, call: ast.Call, env: Env, facts: Facts, port: Any) -> None:
        self._say(call, env, facts, "room", port, "output")

    def _take(self, call: ast.Call, env: Env, facts: Facts, port: Any) -> None:
        self._say(call, env, facts, "take", port, "input")

    def _put(self, call: ast.Call, env: Env, facts: Facts, port: Any, token: Any) -> None:
        if not isinstance(token, Symbol):
            self.text.refuse(call, ast.unparse(call), "what is put is a token")
        number, token = self._say(call, env, facts, "put", port, "output"), token.on(facts)
        format = self.outputs[number]
        control = ANY if token.carries is ANY or not format.control else token.carries.control
        for name, part, most in (
            ("stop", token.stop, format.rank),
            ("rank", token.rank, format.rank),
            ("control", control, (1 << format.bits) - 1),
        ):
            lo, hi = (0, 0) if part is ANY else facts.range(part)
            if lo < 0 or hi > most:
                self.text.refuse(
                    call,
                    f"a {name} between {lo} and {hi} in output {number}",
                    f"there it is at most {most}: say so before, or by a fault",
                )
        env["header", number] = token

    # -- what is given -------------------------------------------------------------------------------------------------

    def _token(
        self,
        call: ast.Call,
        env: Env,
        facts: Facts,
        carries: Any,
        stop: Number = const(0),  # noqa: B008
        rank: Number = const(0),  # noqa: B008
        done: Number = const(0),  # noqa: B008
    ) -> Symbol:
        if isinstance(carries, Number):
            fixed = facts.fixed(carries)
            carries = Carried(const(1), ANY if fixed is None else Literal((fixed,)), carries)
        if not isinstance(carries, Carried):
            self.text.refuse(call, ast.unparse(call), "its value is one of a token, or a parameter")
        return Symbol(stop, rank, done, carries)

    def _empty(self, call: ast.Call, env: Env, facts: Facts, rank: Number, stop: Number | None = None) -> Symbol:
        return Symbol(rank if stop is None else stop, rank, const(0), Carried(const(0)))

    def _aligned(self, call: ast.Call, env: Env, facts: Facts, tokens: list[Symbol]) -> Symbol:
        first, *others = (self.fronts.index(each) for each in tokens)
        for port in others:
            env[("differ",)] = either(env.get(("differ",), const(0)), leaf(("differ", first, port), 0, 1))
        return tokens[0]

    def _values(self, call: ast.Call, env: Env, facts: Facts, tokens: list[Symbol]) -> list[Carried]:
        return [each.on(facts).carries for each in tokens]

    def _moved(self, call: ast.Call, movement: Movement, arguments: list[Any]) -> Carried:
        """What becomes of values whose words are moved."""
        given = [one for each in arguments for one in (each if isinstance(each, list) else [each])]
        if not all(isinstance(each, Carried) for each in given):
            self.text.refuse(call, ast.unparse(call), "it is a function of values")
        return Carried(const(1), Moved(movement, tuple(each.source for each in given)))

    def _all_done(self, call: ast.Call, env: Env, facts: Facts, tokens: list[Symbol]) -> Number:
        differ = const(0)
        for each in tokens:
            differ = either(differ, invert(each.done))
        return invert(differ)

    def _chosen(self, call: ast.Call, env: Env, facts: Facts, channels: Channels, mask: Any) -> Channels:
        if not isinstance(mask, Carried):
            self.text.refuse(call, ast.unparse(call), "a mask is the value of a selector")
        return Channels(channels.side, tuple((port, mask.bit(port, facts)) for port, _ in channels.ports))

    def _min(self, call: ast.Call, env: Env, facts: Facts, a: Number, b: Number) -> Number:
        return self.least(a, b, facts)

    def _len(self, call: ast.Call, env: Env, facts: Facts, listed: Any) -> Number:
        return const(len(listed.ports if isinstance(listed, Channels) else listed))

    def _range(self, call: ast.Call, env: Env, facts: Facts, count: Number) -> list[Number]:
        if facts.fixed(count) is None:
            self.text.refuse(call, ast.unparse(call), "how many turns a loop has must be known without a run")
        return [const(each) for each in range(count.lo)]
