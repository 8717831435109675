"""The words of rules: what each of them gives, and what it says."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from typing import Any

from hw.rules.expressions import Expressions, Known
from hw.rules.facts import never
from hw.rules.numbers import Number, bit, const, either, invert, leaf, less
from hw.rules.values import ANY, COMPUTED, Arriving, Carried, Literal, Path, Port, Symbol
from step.firing import words
from step.language.faults import aligned, same_rows
from step.language.tokens import Token, empty
from step.lowering.links import Span

DONE = ("take", "put", "next")
BEHIND = {"need": ("room", *DONE), "fault": ("room", *DONE), "room": DONE}
"""By word, what comes behind it in a firing, which is all or nothing."""


class Calls(Expressions):
    """The calls of a rule; ``too_late`` are places where words stand behind those that they come before, ``aligned``
    the inputs that are to agree with the first."""

    too_late: dict[str, ast.AST]
    aligned: set[int]

    def call(self, call: ast.Call, path: Path) -> Any:
        if not call.keywords:
            arguments: list[Any] = []
            for each in call.args:
                match each:
                    case ast.Starred(value=tokens):
                        arguments += self.value(tokens, path)
                    case _:
                        arguments.append(self.value(each, path))
            match call.func:
                case ast.Name(id=name) if ("name", name) not in path.said:
                    word = self.text.scope.get(name, vars(builtins).get(name))
                    if callable(word) and word in WORDS:
                        return WORDS[word](self, call, path, *arguments)
                case ast.Attribute(value=ast.Name(id="self"), attr="resize"):
                    return self._resize(path, *arguments)
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    match self.parameters.get(name):
                        case words.side_by_side.__name__:
                            return self._arriving(call, arguments)
                        case Arriving(first=first):
                            return self._arriving(call, arguments, first)
        said = ", ".join(sorted([*(each.__name__ for each in WORDS), "fault"]))
        hint = f"it says {said}, and a parameter that is side_by_side or an Item"
        return self.text.refuse(call, ast.unparse(call), hint)

    def _say(self, call: ast.Call, path: Path, word: str, side: str, port: Any) -> int:
        """Note that ``word`` is said of ``port``."""
        if not isinstance(port, Port) or port.side != side:
            self.text.refuse(call, ast.unparse(call), f"{word} is said of one {side}")
        if word in ("take", "put") and not never(path.flag(word, port.number), path.facts):
            self.text.refuse(call, f"a second {word} of {side} {port.number}", "a firing has one at most")
        if word == "take" and not never(invert(path.flag("need", port.number)), path.facts):
            self.text.refuse(call, f"a take of input {port.number} without need", "say need of it before")
        self.in_order(call, path, word)
        path.said[word, port.number] = const(1)
        return port.number

    def in_order(self, place: ast.AST, path: Path, word: str) -> None:
        """Note a ``word`` behind what changes something: all that may keep the firing away comes before."""
        if any(key[0] in BEHIND.get(word, ()) for key in path.said):
            self.too_late.setdefault(word, place)

    def _put(self, call: ast.Call, path: Path, port: Any, token: Any) -> None:
        if not isinstance(token, Symbol):
            self.text.refuse(call, ast.unparse(call), "what is put is a token")
        number = self._say(call, path, "put", "output", port)
        format, bits = self.outputs[number], token.numbers()
        control = (1 << format.bits) - 1 if format.control else None
        for name, most in (("stop", format.rank), ("rank", format.rank), ("control", control)):
            lo, hi = path.facts.range(bits[name]) if name in bits else (0, 0)
            if most is not None and (lo < 0 or hi > most):
                hint = f"there it is at most {most}: say so before, or by a fault"
                self.text.refuse(call, f"a {name} between {lo} and {hi} in output {number}", hint)
        path.said["token", number] = token

    def _token(self, call: ast.Call, path: Path, carries: Any, *parts: Number) -> Symbol:
        if isinstance(carries, Number):
            fixed = path.facts.fixed(carries)
            carries = Carried(const(1), self.source(COMPUTED if fixed is None else Literal((fixed,))), carries)
        if not isinstance(carries, Carried):
            self.text.refuse(call, ast.unparse(call), "its value is one of a token, or a parameter")
        stop, rank, done = (*parts, *[const(0)] * 3)[:3]
        return Symbol(stop, rank, done, carries)

    def _empty(self, call: ast.Call, path: Path, rank: Number, stop: Number | None = None) -> Symbol:
        return Symbol(rank if stop is None else stop, rank, const(0), Carried(const(0)))

    def _aligned(self, call: ast.Call, path: Path, *tokens: Symbol) -> Symbol:
        self.aligned |= {*range(1, len(tokens))}
        for port in range(1, len(tokens)):
            path.said[("differ",)] = either(path.flag("differ"), leaf(("differ", 0, port), 0, 1))
        return tokens[0]

    def _arriving(self, call: ast.Call, values: list[Carried], first: int | Span | None = None) -> Carried:
        """The values of inputs one after the other, or an item that begins with word ``first`` of one."""
        found = [each.source for each in values if isinstance(each, Carried) and isinstance(each.source, Number)]
        whole = [self.sources[each.lo] for each in found if each.op == "const"]
        if len(whole) < len(values) or not all(isinstance(each, Arriving) and each.is_whole for each in whole):
            self.text.refuse(call, ast.unparse(call), "its values are those of inputs")
        held = tuple(port for each in whole for port in each.held)
        if any(self.fronts[port].carries.control is not ANY for port in held):
            self.text.refuse(call, ast.unparse(call), "control that is held has no words: take it when it goes out")
        rows = next((each.rows for each in values if each.rows is not ANY), ANY)
        words = Arriving(tuple(each.ports[0] for each in whole), first, held)
        return Carried(const(1), self.source(words), rows=rows)

    def _resize(self, path: Path, tile: Any) -> None:
        """The firing takes the time of ``tile``, or of so many rows, where these are dynamic."""
        if any(each.carries.rows is not ANY for each in self.fronts):
            path.said["resized",] = const(1)
            path.said["resize",] = tile.rows if isinstance(tile, Carried) else tile

    def _chosen(self, call: ast.Call, path: Path, ports: list[Port], mask: Any) -> list[Port]:
        if not isinstance(mask, Carried) or mask.control is ANY:
            self.text.refuse(call, ast.unparse(call), "a mask is the value of a selector")
        return [each._replace(when=bit(mask.control, each.number)) for each in ports]


WORDS: Mapping[Any, Callable[..., Any]] = {
    words.need: lambda rule, call, path, port: rule.fronts[rule._say(call, path, "need", "input", port)],
    words.need_all: lambda rule, call, path, ports: [WORDS[words.need](rule, call, path, each) for each in ports],
    words.room: lambda rule, call, path, port: rule._say(call, path, "room", "output", port),
    words.take: lambda rule, call, path, port: rule._say(call, path, "take", "input", port),
    words.values: lambda rule, call, path, tokens: [each.carries for each in tokens],
    min: lambda rule, call, path, a, b: rule.either(less(a, b), Known(a), Known(b), path),
    words.put: Calls._put,
    words.chosen: Calls._chosen,
    aligned: Calls._aligned,
    same_rows: lambda rule, call, path, tokens, ports: None,  # `aligned` says it of tiles of dynamic size
    Token: Calls._token,
    empty: Calls._empty,
}
"""By function, what it does here."""
