"""From a firing rule (`step.firing.reading`) to C++."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from step.firing.machine import Machine
from step.firing.reading import read
from step.firing.terms import (
    BANKS,
    BOOL,
    BUFFERS,
    CHANNEL,
    CHANNELS,
    FUNCTION,
    INT,
    INT_NOTES,
    INTS,
    MASK,
    OUTCOME,
    PAIRS,
    STREAM,
    TILES,
    TOKEN,
    TOKEN_NOTES,
    TOKENS,
    VALUE,
    Kind,
    RuleTerm,
    within,
)
from step.firing.words import need, need_all, oldest
from step.language.tokens import NOTHING

LARGEST = 1 << 62
"""Integers below it are their own numbers."""

TYPES: dict[Kind, str] = {
    **{INT: "int64_t", BOOL: "bool", MASK: "Mask", TOKEN: "Token", VALUE: "Value"},
    **{CHANNEL: "Channel*", CHANNELS: "Channels", INTS: "Ints", PAIRS: "Pairs", TOKENS: "Tokens", STREAM: "Stream"},
    **{FUNCTION: "int64_t", BANKS: "Banks*", BUFFERS: "Buffers*", TILES: "Tiles*"},
    **{TOKEN_NOTES: "TokenNotes*", INT_NOTES: "IntNotes*"},
}

WORDS = {
    **{"need": "NEED({})", "need_all": "NEED_ALL({}, ANEW)", "need_each": "NEED_EACH({}, {})"},
    **{"need_any": "NEED_ANY({}, {})", "waiting": "waiting({}, {}, e.now)", "every": "every({})"},
    **{"front": "front({}, e.now)", "oldest": "oldest({}, {}, e.now)", "going": "going({}, e.now)"},
    **{"aligned": "ALIGNED({})", "same_rows": "SAME_ROWS({}, {})", "fault": "FAULT({})"},
    **{"room": "ROOM({})", "enter": "ENTER({}, {}, {})", "pass_through": "e.pass_through({}, {}, {}, {})"},
    **{"take": "e.take({})", "put": "e.put({}, {})", "reserve": "e.reserve({}, {})", "chosen": "CHOSEN({}, {})"},
    **{"begin": "begin(*{})", "fill": "fill(*{}, {})", "lay": "lay(*{}, {})", "drop": "drop(*{})"},
    **{"entry": "entry(*{}, {})", "page_of": "page_of(*{}, {})", "page_count": "page_count(*{})"},
    **{"lowest": "{}.lowest()", "several": "{}.several()", "first": "{}.first()", "without": "{}.without({})"},
    **{"only": "ASK(e.only({}))"},
    **{"number": "ASK(e.number({}))", "rows_of": "ASK(e.rows({}))", "targets_in": "ASK(e.targets({}))"},
    **{"write": "write(*{}, {}, {})", "min": "least({}, {})"},
}
"""Words, and the functions of control that rules call; `Token` and `empty` are called as they are."""

LENGTHS = {CHANNELS: "{}.count", INTS: "{}.count", TOKENS: "{}.count", TILES: "int64_t({}->all.size())"}
MISSING = {TOKEN: "!{}.there()", INT: "({} == INT64_MIN)", BANKS: "({} == nullptr)"}
NO_VALUE = {TOKEN: "Token()", INT: "INT64_MIN", VALUE: "UNKNOWN"}
CONVERTED = {
    (VALUE, MASK): "ASK(e.mask({}))",
    **{(VALUE, INT): "int64_t({})", (BOOL, INT): "int64_t({})", (INT, VALUE): "WHOLE({})"},
    **{(INT, BOOL): "({} != 0)", (MASK, BOOL): "{}.any()"},
    **{(kind, BOOL): f"({length} != 0)" for kind, length in LENGTHS.items()},
}
"""By kinds, how something of one stands for another."""

FORMS = {
    **{sign: f"({{}} {sign} {{}})" for sign in "+-*"},
    **{sign: f"{{}} {sign} {{}}" for sign in ("==", "!=", "<", "<=", ">", ">=")},
    **{"//": "quotient({}, {})", "%": "remainder({}, {})", "negative": "(-{})"},
    **{"not": "!{}", "either": "({} ? {} : {})", "butlast": "{}.but_last()", "resize": "e.resize(machine, {})"},
}
JOINED = {"and": " && ", "or": " || ", "compare": " && "}


class TranslatedRule:
    """The rule of a ``machine`` class: its ``fields`` (without those of every machine), its ``body`` in C++.

    ``constant`` says how C++ knows a value that rules name (`sim_approx.compiled.pack`).
    """

    def __init__(self, machine: type[Machine], constant: Callable[[Any], int]) -> None:
        self.rule = rule = read(machine)  # type: ignore[arg-type]
        self._constant = constant
        self.fields = rule.fields
        self.changed = {name: kind for name, kind in self.fields.items() if name in rule.changed}
        self._terms = [*within(rule.body)]
        indexed = {id(each.parts[0]) for each in self._terms if each.op in ("entry", "butlast")}
        self.goes_over_ports = any(each.op == "ports" and id(each) not in indexed for each in self._terms)
        """Whether it does something for all its inputs or outputs, which is faster if their number is known."""
        self.first = self._first()
        declared = [f"    {TYPES[kind]} {local(name)}{{}};" for name, kind in rule.locals.items()]
        declared += [f"    Fronts<INPUTS> {local(name)}_;" for name, kind in rule.locals.items() if kind == TOKENS]
        self.body = "\n".join([*declared, *self._block(rule.body, 1), "    return FIRES;"])
        self.traits = "\n".join(self._traits())

    def _first(self) -> str:
        """The input in C++ without which every try starves, whatever the state is; empty: there is none."""
        match self.rule.body[0].parts:
            case _, RuleTerm(op="call", parts=(word, RuleTerm(op="entry", parts=(RuleTerm(op="ports"), place)) as one)):
                return self._made(one) if word is need and place.op in ("constant", "negative") else ""
            case _, RuleTerm(op="call", parts=(word, RuleTerm(op="ports"))) if word is need_all:
                return "inputs[0]"
        return ""

    def _traits(self) -> Iterator[str]:
        """Members in C++ that say what a jump over repetitions has to know."""
        if any(each.op == "call" and each.parts[0] is oldest for each in self._terms):
            yield "    bool compares_ages() const override { return true; }"
        if addresses := [f"&{each.name}" for each in fields(self.rule.machine) if each.type == "Address"]:
            yield f"    std::vector<int64_t*> addresses() override {{ return {{{', '.join(addresses)}}}; }}"
        if (counts := self.rule.machine.counter) is not None:
            *uses, to, tiles = counts
            channel = "nullptr" if to is None else f"outputs[{to}]"
            parts = ", ".join([*(f"&{name}" if name else "nullptr" for name in uses), channel, tiles or "nullptr"])
            yield f"    Counter counter() override {{ return {{{parts}}}; }}"

    def _block(self, statements: tuple[RuleTerm, ...], depth: int) -> Iterator[str]:
        for each in statements:
            for line in self._statement(each, depth):
                yield line if line.startswith(" ") else "    " * depth + line

    def _statement(self, statement: RuleTerm, depth: int) -> Iterator[str]:
        match statement.op, *statement.parts:
            case "let", name, RuleTerm(op="call", parts=(word, channels)) if word is need_all:
                yield f"{local(name)} = NEED_ALL({self._made(channels)}, IN({local(name)}_));"
            case "let", name, value:
                yield f"{local(name)} = {self._made(value)};"
            case "set", name, value:
                yield f"self.{name} = {self._made(value)};"
            case "say", call:
                yield f"{self._made(call)};"
            case "note", name, what:
                yield f"note(*self.{name}, {self._made(what)});"
            case "if", test, body, orelse:
                yield f"if ({self._made(test)}) {{"
                yield from self._block(body, depth + 1)
                if orelse:
                    yield "} else {"
                    yield from self._block(orelse, depth + 1)
                yield "}"
            case "for", names, over, body:
                one, *_ = called = [local(name) for name in names]
                heads = {
                    INT: f"int64_t {one} = 0, end_ = {self._made(over)}; {one} < end_; {one}++",
                    CHANNELS: f"Channel* {one} : {self._made(over)}",
                    PAIRS: f"auto [{', '.join(called)}] : {self._made(over)}",
                }
                guard = f"if ({self._made(over)}.count) " if over.kind == PAIRS else ""  # most have none
                each = "EACH" if self.goes_over_ports and over.op == "ports" else "for"
                yield f"{guard}{each} ({heads[over.kind]}) {{"
                yield from self._block(body, depth + 1)
                yield "}"
            case "return", *outcome:
                yield f"return {self._made(outcome[0]) if outcome else 'FIRES'};"

    def _made(self, term: RuleTerm) -> str:
        """``term`` in C++."""
        match term.op, *term.parts:
            case "constant", value:
                return self._named(term, value)
            case "local", name:
                return local(name)
            case "ports", name:
                return str(name)
            case "field", name:
                return f"self.{name}"
            case "part", token, part:
                return f"{self._made(token)}.{part}{'' if part == 'value' else '()'}"
            case "as", RuleTerm(kind="None"):
                return NO_VALUE[term.kind]
            case "as", inner:
                if (inner.kind, term.kind) == (BOOL, VALUE):
                    return f"Value({self._made(inner)} ? {self._constant(True)} : {self._constant(False)})"
                return CONVERTED[inner.kind, term.kind].format(self._made(inner))
            case "missing", inner:
                return MISSING[inner.kind].format(self._made(inner))
            case "and" | "or" | "compare" as op, *parts:
                return f"({JOINED[op].join(map(self._made, parts))})"
            case "entry", listed, place:
                form = "ASK(e.tile(*{}, {}))" if listed.kind == TILES else "{}[{}]"
                return form.format(self._made(listed), self._made(place))
            case "apply", name, *operands:
                return f"CALL(self.{name}, Arguments(){''.join(f'.add({self._made(each)})' for each in operands)})"
            case "call", word, *operands:
                arguments = [*map(self._made, operands)]
                name = word.__name__
                if name == "len":
                    return LENGTHS[operands[0].kind].format(*arguments)
                if name in ("Token", "empty"):
                    return f"{name}({', '.join(arguments)})"
                if name in WORDS:
                    return WORDS[name].format(*arguments)
                words = ", ".join(sorted({*WORDS, "Token", "empty", "len", "values", "range"}))
                self.rule.refuse(term.node, str(term), f"it calls its own functions of values, and: {words}")
        return FORMS[term.op].format(*map(self._made, term.parts))

    def _named(self, term: RuleTerm, value: Any) -> str:
        """A constant in C++: integers have their place in 64 bits."""
        if term.kind == OUTCOME:
            return f"int({value or 'FIRES'})"
        if term.kind == MASK:
            return "Mask()"
        if term.kind == BOOL:
            return str(value).lower()
        if term.kind == TOKEN:
            return f"Token({self._handle(value.value)}, {value.stop}, {value.rank}, {str(value.done).lower()})"
        if term.kind == VALUE:
            return f"Value({self._handle(value)})"
        if term.kind == INT and not -LARGEST < value < LARGEST:
            self.rule.refuse(term.node, str(term), f"its integers are smaller than 2**{LARGEST.bit_length() - 1}")
        return f"int64_t({value:d})" if term.kind == INT else ""

    def _handle(self, value: Any) -> str:
        """The text of ``value`` in C++."""
        return "NOTHING" if value is NOTHING else str(self._constant(value))


def local(name: str) -> str:
    """A name of the rule in C++, where it may be a keyword, or a name of the macros."""
    return f"r_{name}"
