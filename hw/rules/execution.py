"""A rule executed on symbols: its statements, on all paths at once."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

from hw.layout import TokenFormat
from hw.rules.calls import Calls
from hw.rules.expressions import Env, joined
from hw.rules.facts import Facts, Law, never
from hw.rules.numbers import Number, both, const, either, invert, leaf
from hw.rules.text import text_of
from hw.rules.values import ANY, Carried, Channels, Front, Kept, Moved, Movement, Port, Source, Symbol, sources
from hw.rules.words import Words
from step.firing.machine import Machine
from step.firing.words import side_by_side
from step.language.faults import Fault

SIDE_BY_SIDE = Movement(side_by_side.__name__)

MANY = 64
"""A loop of more turns is unrolled by nobody."""


@dataclass(frozen=True)
class Branch:
    """What happens if ``test``: a loop over channels that are chosen, unrolled."""

    test: Number
    body: list[Any]


@dataclass(frozen=True)
class Bind:
    """The next turn of a loop: ``name`` stands for ``value``."""

    name: str
    value: Any


@dataclass(frozen=True)
class Stop:
    """A fault."""

    code: Number


def leaves(statement: Any) -> bool:
    """Whether a statement may end the firing."""
    if isinstance(statement, Bind | Stop):
        return isinstance(statement, Stop)
    if isinstance(statement, Branch):
        return any(map(leaves, statement.body))
    return any(
        isinstance(each, ast.Return)
        or (isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "fault")
        for each in ast.walk(statement)
    )


class Execution(Calls):
    """One rule under execution. ``said`` is what it does: numbers and tokens by word and port.

    ``names`` are those that the rule gives to numbers.
    """

    def __init__(
        self,
        machine: type[Machine],
        parameters: dict[str, Any],
        inputs: Sequence[TokenFormat],
        outputs: Sequence[TokenFormat],
    ) -> None:
        fronts = [self._front(port, format) for port, format in enumerate(inputs)]
        super().__init__(text_of(machine), parameters, fronts, outputs)  # type: ignore[arg-type]
        self.names: dict[Number, str] = {}
        limits = {0, 1, *(each.rank for each in (*inputs, *outputs))}
        limits |= {each for each in self.text.constants if isinstance(each, int) and each >= 0}
        for value in parameters.values():
            if isinstance(value, int):
                limits |= {max(0, value - 1), value, value + 1}
        control = [each.bits if each.control else 0 for each in inputs]
        self.words = Words(self.text, parameters, limits, control)
        self.said = self._settled()
        self._check_room()

    @staticmethod
    def _front(port: int, format: TokenFormat) -> Symbol:
        def part(name: str, most: int) -> Number:
            return leaf(("input", port, name), 0, most)

        control = part("control", (1 << format.bits) - 1) if format.control else ANY
        carries = Carried(part("value", 1), Front(port), control)
        return Symbol(part("stop", format.rank), part("rank", format.rank), part("done", 1), carries)

    def _settled(self) -> Env:
        """What the rule does, when its words have the ranges that it gives them."""
        while True:
            before, self.present = self.words.ranges(), self.words.present()
            laws: dict[Number, Law] = {}
            for each in self.fronts:
                laws |= each.laws()
            laws |= self.words.laws(self.present)
            self.facts = Facts(laws)
            said = self._run(list(self.text.body), {("live",): const(1)}, self.facts)
            if self.words.ranges() == before:
                return said

    def flag(self, *key: Hashable) -> Number:
        """Whether the rule says ``key``, a word and a port."""
        found: Number = self.said.get(key, const(0))
        return found

    def drops(self, port: int) -> Number:
        """When the oldest value of the held input ``port`` goes out."""
        found = const(0)
        for output in range(len(self.outputs)):
            carries = self.said.get(("header", output), Symbol()).carries
            if carries is not ANY and any(self.input_of(each) == port for each in sources(carries.source)):
                found = either(found, both(self.flag("put", output), carries.there))
        return found

    def input_of(self, source: Source) -> int | None:
        """The input whose words ``source`` stands for, in front of it or held."""
        return self.words.held[source.word] if isinstance(source, Kept) else getattr(source, "port", None)

    def side_by_side(self, source: Source) -> list[int]:
        """The inputs whose words go out one after the other, if ``source`` is a tuple of their values."""
        moved = [each for each in sources(source) if isinstance(each, Moved) and each.movement == SIDE_BY_SIDE]
        return [port for one in moved for each in one.sources if (port := self.input_of(each)) is not None]

    def _check_room(self) -> None:
        """Where a token is put there must be room for it, and only there: else the floors disagree."""
        for port in range(len(self.outputs)):
            put, room = self.flag("put", port), self.flag("room", port)
            for one, other, what in ((put, room, "a put without room"), (room, put, "room without a put")):
                wrong = both(self.said[("live",)], both(one, invert(other)))
                if not never(wrong, self.facts):
                    self.text.refuse(
                        self.text.body[0], f"{what} for output {port}", "a firing says room for what it puts, no more"
                    )

    # -- statements ----------------------------------------------------------------------------------------------------

    def _run(self, todo: list[Any], env: Env, facts: Facts) -> Env:
        """What is said behind ``todo``; ``env`` is changed."""
        while todo:
            each, *todo = todo
            match each:
                case Bind(name, value):
                    env["name", name] = value
                case Stop(code):
                    return self._dead(env, code)
                case ast.Expr(value=ast.Constant(value=str())):
                    pass
                case ast.Expr(value=ast.Call(func=ast.Name(id="fault"), args=[code])):
                    return self._dead(env, self.number(code, env, facts))
                case ast.Expr(value=ast.Call() as call):
                    self.value(call, env, facts)
                case ast.Assign(targets=[target], value=value):
                    self._assign(target, self.value(value, env, facts), env, facts)
                    differ = env.pop(("differ",), const(0))
                    if facts.fixed(differ) != 0:
                        todo = [Branch(differ, [Stop(const(int(Fault.STOPS_DISAGREE)))]), *todo]
                case ast.AugAssign(target=target, op=operation, value=value):
                    loaded = copy(target)
                    loaded.ctx = ast.Load()
                    total = ast.copy_location(ast.BinOp(loaded, operation, value), each)
                    self._assign(target, self.value(total, env, facts), env, facts)
                case ast.Return(value=value):
                    self._outcome(value, env, facts, const(1))
                    return env
                case ast.For(target=target, iter=over, body=body):
                    todo = [*self._unrolled(each, target, self.value(over, env, facts), body), *todo]
                case Branch(test, body) | ast.If(test=test, body=body):
                    orelse = each.orelse if isinstance(each, ast.If) else []
                    test = self.truth(test, env, facts) if isinstance(test, ast.expr) else test
                    yes, no = facts.assume(test, True), facts.assume(test, False)
                    if yes is None or no is None:
                        facts, todo = yes or no or facts, [*(body if no is None else orelse), *todo]
                        continue
                    ends = any(map(leaves, (*body, *orelse)))
                    behind = todo if ends else []
                    one = self._run([*body, *behind], dict(env), yes)
                    other = self._run([*orelse, *behind], dict(env), no)
                    env = joined(test, one, other, yes, no)
                    if ends:
                        return env
                case _:
                    self.text.refuse(each, ast.unparse(each), "it has assignments, calls, if, for and return")
        return env

    @staticmethod
    def _dead(env: Env, code: Number) -> Env:
        """Behind a fault nothing matters but what was needed."""
        needs = {key: value for key, value in env.items() if key[0] == "need"}
        return {**needs, ("fault",): code, ("live",): const(0)}

    def _unrolled(self, loop: ast.For, target: ast.expr, over: Any, body: list[Any]) -> list[Any]:
        todo: list[Any] = []
        match target, over:
            case ast.Name(id=name), Channels(side, ports):
                turns = [([Bind(name, Port(side, port))], when) for port, when in ports]
            case ast.Name(id=name), list():
                turns = [([Bind(name, each)], const(1)) for each in over]
            case ast.Tuple(elts=names), tuple() if all(isinstance(each, tuple) for each in over):
                pairs = [zip(names, each, strict=True) for each in over]
                turns = [([Bind(n.id, const(v)) for n, v in each], const(1)) for each in pairs]  # type: ignore[attr-defined]
            case _:
                self.text.refuse(loop, f"a loop over {ast.unparse(loop.iter)}", "it goes over ports, pairs, range(n)")
        if len(turns) > MANY:
            self.text.refuse(loop, f"a loop of {len(turns)} turns", f"it is unrolled, and may have {MANY}")
        for bound, when in turns:
            todo += [*bound, *body] if when is const(1) else [Branch(when, [*bound, *body])]
        return todo

    def _outcome(self, value: ast.expr | None, env: Env, facts: Facts, when: Number) -> None:
        match value:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                found = self.truth(test, env, facts)
                for outcome, truth in ((body, True), (orelse, False)):
                    behind = facts.assume(found, truth)
                    if behind is not None:
                        self._outcome(outcome, env, behind, both(when, found if truth else invert(found)))
            case ast.Name(id="COMPUTES" | "ENDS" as name):
                env[(name,)] = either(env.get((name,), const(0)), when)

    def _assign(self, target: ast.expr, value: Any, env: Env, facts: Facts) -> None:
        match target:
            case ast.Name(id=name):
                if isinstance(value, Number) and value.op not in ("leaf", "const"):
                    self.names.setdefault(value, name)
                env["name", name] = value
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                env["next", name] = const(1)
                env["word", name] = self.words.assigned(name, value, facts, target)
            case _:
                self.text.refuse(target, ast.unparse(target), "it assigns to names and its own words")


@cache
def executed(
    machine: type[Machine],
    parameters: tuple[tuple[str, Any], ...],
    inputs: tuple[TokenFormat, ...],
    outputs: tuple[TokenFormat, ...],
) -> Execution:
    """What the rule of ``machine`` does; raises `HardwareError` where no hardware can be made of it."""
    return Execution(machine, dict(parameters), inputs, outputs)
