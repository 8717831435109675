"""From the source of a firing rule to C++.

A rule is what `step.firing.words` says: words, control of tokens, and arithmetic of small integers. Every expression
is translated with its kind, so that what has no meaning in hardware is an error, with its file and line.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple, NoReturn

from sim_approx.compiled.counting import counter
from sim_approx.compiled.fields import (
    BANKS,
    BOOL,
    BUFFERS,
    CHANNEL,
    CHANNELS,
    FUNCTION,
    INT,
    INT_NOTES,
    INTS,
    KEPT,
    MASK,
    NONE,
    NOTES,
    PAIRS,
    STREAM,
    TILES,
    TOKEN,
    TOKEN_NOTES,
    TOKENS,
    VALUE,
    FieldKind,
    kind_of,
)
from sim_approx.compiled.handles import LARGEST
from step.errors import FabricError
from step.firing.machine import Machine
from step.language.tokens import NOTHING, Token


class RuleError(FabricError):
    """A rule that can not be translated: file, line, what it says and what it may say."""


class RuleText(NamedTuple):
    """An expression in C++."""

    cpp: str
    kind: FieldKind


NO_INTEGER = "INT64_MIN"
"""Stands for None where there may be an integer."""

WORDS: dict[str, tuple[str, tuple[FieldKind, ...], FieldKind]] = {
    "need": ("NEED({})", (CHANNEL,), TOKEN),
    "need_all": ("NEED_ALL({})", (CHANNELS,), TOKENS),
    "need_oldest": ("NEED_OLDEST({}, {})", (CHANNELS, MASK), INT),
    "front": ("front({}, e.now)", (CHANNEL,), TOKEN),
    "oldest": ("oldest({}, {}, e.now)", (CHANNELS, MASK), INT),
    "going": ("going({}, e.now)", (CHANNELS,), MASK),
    "room": ("ROOM({})", (CHANNEL,), NONE),
    "enter": ("ENTER({}, {}, {})", (BANKS, INT, INT), NONE),
    "take": ("e.take({})", (CHANNEL,), NONE),
    "put": ("e.put({}, {})", (CHANNEL, TOKEN), NONE),
    "reserve": ("e.reserve({}, {})", (CHANNEL, INT), NONE),
    "pass_through": ("e.pass_through({}, {}, {}, {})", (BANKS, INT, INT, INT), NONE),
    "fault": ("FAULT({})", (INT,), NONE),
    "begin": ("begin(*{})", (BUFFERS,), NONE),
    "fill": ("fill(*{}, {})", (BUFFERS, TOKEN), NONE),
    "lay": ("lay(*{}, {})", (BUFFERS, INT), NONE),
    "drop": ("drop(*{})", (BUFFERS,), NONE),
    "entry": ("entry(*{}, {})", (BUFFERS, INT), TOKEN),
    "page_of": ("page_of(*{}, {})", (BUFFERS, INT), INT),
    "page_count": ("page_count(*{})", (BUFFERS,), INT),
    "write": ("write(*{}, {}, {})", (TILES, INT, VALUE), NONE),
    "chosen": ("CHOSEN({}, {})", (CHANNELS, MASK), CHANNELS),
    "lowest": ("{}.lowest()", (MASK,), INT),
    "targets_in": ("ASK(e.targets({}))", (VALUE,), INT),
    "several": ("{}.several()", (MASK,), BOOL),
    "without": ("{}.without({})", (MASK, INT), MASK),
    "only": ("ASK(e.only({}))", (INT,), VALUE),
    "number": ("ASK(e.number({}))", (VALUE,), INT),
    "rows_of": ("ASK(e.rows({}))", (VALUE,), INT),
    "all_done": ("all_done({})", (TOKENS,), BOOL),
    "same_rows": ("SAME_ROWS({}, {})", (TOKENS, INTS), NONE),
    "min": ("least({}, {})", (INT, INT), INT),
}
"""Words, and the functions of control that rules call: how they read in C++, what they take and what they give."""

LENGTHS = {CHANNELS: "{}.count", INTS: "{}.count", TOKENS: "{}.count", TILES: "int64_t({}->all.size())"}
ELEMENTS = {
    CHANNELS: ("{}[{}]", CHANNEL),
    INTS: ("{}[{}]", INT),
    TOKENS: ("{}[{}]", TOKEN),
    STREAM: ("{}[{}]", TOKEN),
}
PARTS = {"stop": INT, "rank": INT, "done": BOOL, "has_value": BOOL, "value": VALUE}
COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
CALCULATED = {ast.Add: "({} + {})", ast.Sub: "({} - {})", ast.Mult: "({} * {})"}
DIVIDED = {ast.FloorDiv: "quotient({}, {})", ast.Mod: "remainder({}, {})"}


class TranslatedRule:
    """The rule of a ``machine`` class: its ``fields`` (without those of every machine), its ``body`` in C++.

    ``constant`` says how C++ knows a value that rules name (`sim_approx.compiled.handles`).
    """

    def __init__(self, machine: type[Machine], constant: Callable[[Any], int]) -> None:
        lines, self._first = inspect.getsourcelines(machine.fire)
        self._file = inspect.getsourcefile(machine) or "?"
        (function,) = ast.parse(textwrap.dedent("".join(lines))).body
        assert isinstance(function, ast.FunctionDef)
        self._nodes, self._constant = list(ast.walk(function)), constant
        self._globals = machine.fire.__globals__
        self._locals: dict[str, FieldKind] = {}
        self._scopes: list[dict[str, FieldKind]] = []
        self.machine = machine
        self.fields = self._fields()
        self.goes_over_ports = self._goes_over_ports()
        self.changed = self._changed()
        self.addresses = [each.name for each in fields(machine) if each.type == "Address"]
        self.counter = counter(function, self.fields, self.changed)
        waits = {id(node.value) for node in self._nodes if isinstance(node, ast.Expr)}  # for any, whichever is oldest
        self.compares_ages = any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("oldest", "need_oldest")
            and id(node) not in waits
            for node in self._nodes
        )
        self._lines: list[str] = []
        self._block(function.body, 1)
        declared = [f"    {kind.cpp} {local(name)}{{}};" for name, kind in self._locals.items()]
        self.body = "\n".join([*declared, *self._lines, "    return FIRES;"])
        self.traits = "\n".join(self._traits())

    def _traits(self) -> Iterator[str]:
        """Members in C++ that say what a jump over repetitions has to know."""
        if self.compares_ages:
            yield "    bool compares_ages() const override { return true; }"
        if self.addresses:
            words = ", ".join(f"&{name}" for name in self.addresses)
            yield f"    std::vector<int64_t*> addresses() override {{ return {{{words}}}; }}"
        if self.counter is not None:
            each = self.counter
            own = [f"&{name}" if name else "nullptr" for name in (each.word, each.stream, each.entries, each.sent)]
            to = "nullptr" if each.to is None else self._as(each.to, CHANNEL)
            parts = ", ".join([*own, to, each.tiles or "nullptr"])
            yield f"    Counter counter() override {{ return {{{parts}}}; }}"

    def _fields(self) -> dict[str, FieldKind]:
        """The kinds of the machine's own fields; what is appended to are notes."""
        appended = {
            node.func.value.attr
            for node in self._nodes
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "append"
            and isinstance(node.func.value, ast.Attribute)
        }
        found = {}
        for field in fields(self.machine):
            if field.name in KEPT:
                continue
            kind = kind_of(str(field.type))
            if kind is None:
                raise RuleError(
                    f"{self._file}: {self.machine.__name__}.{field.name} is {field.type}, which no rule can have; "
                    "what it can have is listed in sim_approx/compiled/fields.py"
                )
            found[field.name] = NOTES.get(kind, kind) if field.name in appended else kind
        return found

    def _changed(self) -> dict[str, FieldKind]:
        """The state words: fields that the rule assigns to."""
        targets = []
        for node in self._nodes:
            if isinstance(node, ast.Assign):
                targets += node.targets
            elif isinstance(node, ast.AugAssign):
                targets.append(node.target)
        names = {each.attr for each in targets if isinstance(each, ast.Attribute)}
        return {name: kind for name, kind in self.fields.items() if name in names}

    def _goes_over_ports(self) -> bool:
        """Whether the rule does something for all its inputs or outputs, which is faster if their number is known."""
        indexed = {id(node.value) for node in self._nodes if isinstance(node, ast.Subscript)}
        ports = [node for node in self._nodes if isinstance(node, ast.Attribute)]
        return any(node.attr in ("inputs", "outputs") and id(node) not in indexed for node in ports)

    def _refuse(self, node: ast.AST, what: str, hint: str) -> NoReturn:
        line = self._first + getattr(node, "lineno", 1) - 1
        raise RuleError(f"{self._file}:{line}: a rule can not have {what}; {hint}")

    # -- statements ----------------------------------------------------------------------------------------------------

    def _emit(self, depth: int, line: str) -> None:
        self._lines.append("    " * depth + line)

    def _block(self, statements: list[ast.stmt], depth: int) -> None:
        for each in statements:
            match each:
                case ast.Assign(targets=[target]):
                    self._assign(target, each.value, depth)
                case ast.AugAssign(target=target, op=operation):
                    self._assign(target, ast.copy_location(ast.BinOp(target, operation, each.value), each), depth)
                case ast.Expr(value=ast.Constant(value=str())):
                    pass
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=notes, attr="append"), args=[what])):
                    self._note(each, notes, what, depth)
                case ast.Expr(value=ast.Call() as call):
                    self._emit(depth, f"{self._expression(call).cpp};")
                case ast.If():
                    self._emit(depth, f"if ({self._truth(each.test)}) {{")
                    self._block(each.body, depth + 1)
                    if each.orelse:
                        self._emit(depth, "} else {")
                        self._block(each.orelse, depth + 1)
                    self._emit(depth, "}")
                case ast.For():
                    self._loop(each, depth)
                case ast.Return():
                    value = "FIRES" if each.value is None else self._outcome(each.value)
                    self._emit(depth, f"return {value};")
                case _:
                    self._refuse(
                        each, f"a statement {type(each).__name__}", "it has assignments, calls, if, for and return"
                    )

    def _assign(self, target: ast.expr, value: ast.expr, depth: int) -> None:
        match target:
            case ast.Name(id=name):
                if name not in self._locals:
                    self._locals[name] = self._kind_of_local(name, value)
                self._emit(depth, f"{local(name)} = {self._as(value, self._locals[name])};")
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.fields:
                if not self.fields[name].changes:
                    self._refuse(target, f"a change of self.{name}", f"it is {self.fields[name].name}, no state word")
                self._emit(depth, f"self.{name} = {self._as(value, self.fields[name])};")
            case _:
                self._refuse(target, f"an assignment to {ast.unparse(target)}", "it assigns to names and its own words")

    def _kind_of_local(self, name: str, value: ast.expr) -> FieldKind:
        """The kind of a name, by what is assigned to it first; None says that it is a token."""
        kind = self._expression(value).kind
        return TOKEN if kind is NONE else kind

    def _note(self, node: ast.AST, notes: ast.expr, what: ast.expr, depth: int) -> None:
        listed = self._expression(notes)
        if listed.kind not in (TOKEN_NOTES, INT_NOTES):
            self._refuse(node, f"{ast.unparse(notes)}.append", "it appends to lists of tokens or integers of its own")
        self._emit(depth, f"note(*{listed.cpp}, {self._as(what, TOKEN if listed.kind is TOKEN_NOTES else INT)});")

    def _loop(self, loop: ast.For, depth: int) -> None:
        match loop.target, loop.iter:
            case ast.Name(id=name), ast.Call(func=ast.Name(id="range"), args=[count]):
                each = local(name)
                head = f"for (int64_t {each} = 0, end_ = {self._as(count, INT)}; {each} < end_; {each}++) {{"
                names = {name: INT}
            case ast.Name(id=name), _:
                head = f"for (Channel* {local(name)} : {self._as(loop.iter, CHANNELS)}) {{"
                names = {name: CHANNEL}
            case ast.Tuple(elts=[ast.Name(id=one), ast.Name(id=other)]), _:
                head = f"for (auto [{local(one)}, {local(other)}] : {self._as(loop.iter, PAIRS)}) {{"
                names = {one: INT, other: INT}
            case _:
                self._refuse(loop, f"a loop over {ast.unparse(loop.iter)}", "it goes over channels, pairs and range(n)")
        self._emit(depth, head)
        self._scopes.append(names)
        self._block(loop.body, depth + 1)
        self._scopes.pop()
        self._emit(depth, "}")

    def _outcome(self, value: ast.expr) -> str:
        match value:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self._truth(test)} ? {self._outcome(body)} : {self._outcome(orelse)})"
            case ast.Constant(value=None):
                return "int(FIRES)"
            case ast.Name(id="COMPUTES" | "ENDS" as name):
                return f"int({name})"
        self._refuse(value, f"the outcome {ast.unparse(value)}", "it returns COMPUTES, ENDS or None")

    # -- expressions ---------------------------------------------------------------------------------------------------

    def _as(self, node: ast.expr, kind: FieldKind) -> str:
        """``node`` where something of ``kind`` is wanted."""
        if isinstance(node, ast.IfExp):
            return f"({self._truth(node.test)} ? {self._as(node.body, kind)} : {self._as(node.orelse, kind)})"
        if kind is MASK and isinstance(node, ast.Constant) and node.value == 0:
            return "Mask()"
        found = self._expression(node)
        if found.kind is kind:
            return found.cpp
        if found.kind is NONE and kind in (TOKEN, INT):
            return "Token()" if kind is TOKEN else NO_INTEGER
        if kind is MASK and found.kind is VALUE:
            return f"ASK(e.mask({found.cpp}))"
        if kind is VALUE and found.kind is INT:
            return f"WHOLE({found.cpp})"
        if kind is VALUE and found.kind is BOOL:
            return f"Value({found.cpp} ? {self._constant(True)} : {self._constant(False)})"
        if kind is INT and found.kind in (VALUE, BOOL):
            return f"int64_t({found.cpp})"
        if kind is BOOL:
            return self._truth(node)
        return self._refuse(node, f"{ast.unparse(node)} here", f"it is {found.kind.name}, and {kind.name} is wanted")

    def _truth(self, node: ast.expr) -> str:
        match node:
            case ast.BoolOp(op=operation, values=parts):
                joint = " && " if isinstance(operation, ast.And) else " || "
                return "(" + joint.join(map(self._truth, parts)) + ")"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!{self._truth(operand)}"
        found = self._expression(node)
        if found.kind in (BOOL, INT):
            return f"({found.cpp} != 0)" if found.kind is INT else found.cpp
        if found.kind is MASK:
            return f"{found.cpp}.any()"
        if found.kind in LENGTHS:
            return f"({LENGTHS[found.kind].format(found.cpp)} != 0)"
        return self._refuse(
            node,
            f"{ast.unparse(node)} as a condition",
            f"it is {found.kind.name}; say `is None` of what may be missing",
        )

    def _expression(self, node: ast.expr) -> RuleText:
        match node:
            case ast.Constant(value=None):
                return RuleText("", NONE)
            case ast.Constant(value=int() as number):
                return self._integer(node, number)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._field(node, name)
            case ast.Attribute(value=ast.Name(id=name), attr=member) if name not in self._locals:
                return self._global(node, getattr(self._globals.get(name), member, None))
            case ast.Attribute(value=token, attr=part) if part in PARTS:
                call = "" if part == "value" else "()"
                return RuleText(f"{self._as(token, TOKEN)}.{part}{call}", PARTS[part])
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return RuleText(self._truth(node), BOOL)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return RuleText(f"(-{self._as(operand, INT)})", INT)
            case ast.Compare():
                return self._compare(node)
            case ast.BinOp(left=left, op=operation, right=right):
                form = {**CALCULATED, **DIVIDED}.get(type(operation))
                if form is not None:
                    return RuleText(form.format(self._as(left, INT), self._as(right, INT)), INT)
            case ast.IfExp(body=body, orelse=orelse):
                kind = self._expression(body).kind
                kind = self._expression(orelse).kind if kind is NONE else kind
                if kind is INT and self._expression(orelse).kind is MASK:
                    kind = MASK
                return RuleText(self._as(node, kind), kind)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self._call(node)
        return self._refuse(node, ast.unparse(node), "it compares and calculates, and says the words of step.firing")

    def _name(self, node: ast.Name, name: str) -> RuleText:
        for names in reversed(self._scopes):
            if name in names:
                return RuleText(local(name), names[name])
        if name in self._locals:
            return RuleText(local(name), self._locals[name])
        if name not in self._globals:
            self._refuse(node, f"the name {name} here", "nothing was assigned to it before")
        return self._global(node, self._globals[name])

    def _global(self, node: ast.expr, found: Any) -> RuleText:
        """The object that a name of the rule's file stands for."""
        if isinstance(found, int):
            return self._integer(node, found)
        if isinstance(found, Token):
            control = f"{found.stop}, {found.rank}, {str(found.done).lower()}"
            return RuleText(f"Token({self._handle(found.value)}, {control})", TOKEN)
        if found is None or callable(found):
            self._refuse(node, ast.unparse(node), "it names integers, tokens and values")
        return RuleText(f"Value({self._handle(found)})", VALUE)

    def _integer(self, node: ast.expr, number: int) -> RuleText:
        """A truth value, or a number that has its place in 64 bits."""
        if isinstance(number, bool):
            return RuleText(str(number).lower(), BOOL)
        if not -LARGEST < number < LARGEST:
            self._refuse(node, ast.unparse(node), f"its integers are smaller than 2**{LARGEST.bit_length() - 1}")
        return RuleText(f"int64_t({number:d})", INT)

    def _handle(self, value: Any) -> str:
        """The text of ``value`` in C++."""
        return "NOTHING" if value is NOTHING else str(self._constant(value))

    def _field(self, node: ast.Attribute, name: str) -> RuleText:
        if name in ("inputs", "outputs"):
            return RuleText(name, CHANNELS)
        if name == "burst":
            return RuleText("self.burst", INT)
        if name not in self.fields:
            self._refuse(node, f"self.{name}", f"it has {', '.join(['inputs', 'outputs', *self.fields])}")
        return RuleText(f"self.{name}", self.fields[name])

    def _compare(self, node: ast.Compare) -> RuleText:
        match node:
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as which], comparators=[ast.Constant(value=None)]):
                found = self._expression(left)
                missing = {TOKEN: "!{}.there()", INT: "({} == " + NO_INTEGER + ")", BANKS: "({} == nullptr)"}
                if found.kind not in missing:
                    self._refuse(node, ast.unparse(node), "only tokens, integers and banks may be missing")
                text = missing[found.kind].format(found.cpp)
                return RuleText(text if isinstance(which, ast.Is) else f"!{text}", BOOL)
        parts, left = [], node.left
        for operation, right in zip(node.ops, node.comparators, strict=True):
            if type(operation) not in COMPARED:
                self._refuse(node, ast.unparse(node), f"it compares with {', '.join(COMPARED.values())} and `is None`")
            parts.append(f"{self._as(left, INT)} {COMPARED[type(operation)]} {self._as(right, INT)}")
            left = right
        return RuleText("(" + " && ".join(parts) + ")", BOOL)

    def _subscript(self, node: ast.Subscript) -> RuleText:
        listed = self._expression(node.value)
        match node.slice:
            case ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)), step=None):
                if listed.kind is CHANNELS:
                    return RuleText(f"{listed.cpp}.but_last()", CHANNELS)
            case ast.Slice():
                pass
            case place if listed.kind in ELEMENTS:
                form, kind = ELEMENTS[listed.kind]
                return RuleText(form.format(listed.cpp, self._as(place, INT)), kind)
            case place if listed.kind is TILES:
                return RuleText(f"ASK(e.tile(*{listed.cpp}, {self._as(place, INT)}))", VALUE)
        return self._refuse(node, ast.unparse(node), "it indexes channels, integers, tokens and tiles")

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> RuleText:
        match node:
            case ast.Call(func=ast.Name(id="Token"), args=[value, *rest], keywords=[]):
                control = [self._as(each, INT) for each in rest]
                carried = "UNKNOWN" if _is_none(value) else self._as(value, VALUE)
                return RuleText(f"Token({', '.join([carried, *control])})", TOKEN)
            case ast.Call(func=ast.Name(id="empty"), args=arguments, keywords=[]):
                return RuleText(f"empty({', '.join(self._as(each, INT) for each in arguments)})", TOKEN)
            case ast.Call(func=ast.Name(id="aligned"), args=[ast.Starred(value=tokens)], keywords=[]):
                return RuleText(f"ALIGNED({self._as(tokens, TOKENS)})", TOKEN)
            case ast.Call(func=ast.Name(id="len"), args=[listed], keywords=[]):
                found = self._expression(listed)
                if found.kind in LENGTHS:
                    return RuleText(LENGTHS[found.kind].format(found.cpp), INT)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in WORDS:
                form, kinds, result = WORDS[name]
                if len(arguments) == len(kinds):
                    return RuleText(form.format(*map(self._as, arguments, kinds)), result)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="resize"), args=[tile], keywords=[]):
                return RuleText(f"e.resize(machine, {self._as(tile, VALUE)})", NONE)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name) as called, args=arguments):
                function = self._field(called, name)
                if function.kind is FUNCTION:
                    added = "".join(f".add({self._argument(each)})" for each in arguments)
                    return RuleText(f"CALL({function.cpp}, Arguments(){added})", VALUE)
        words = ", ".join(sorted({*WORDS, "Token", "empty", "aligned", "len", "values", "range"}))
        return self._refuse(node, ast.unparse(node), f"it calls its own functions of values, and: {words}")

    def _argument(self, node: ast.expr) -> str:
        match node:
            case ast.Starred(value=ast.Call(func=ast.Name(id="values"), args=[tokens], keywords=[])):
                return self._as(tokens, TOKENS)
        return self._as(node, VALUE)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def local(name: str) -> str:
    """A name of the rule in C++, where it may be a keyword, or a name of the macros."""
    return f"r_{name}"
