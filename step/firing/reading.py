"""A firing rule read from its source, for all who write it out: its terms, each of a kind that it is checked for.

`Rule.body` has statements, which are terms, too; by what they do (`RuleTerm.op`) their parts are

- of expressions: ``constant`` (object), ``local`` and ``field`` (name), ``ports`` (inputs or outputs), ``part`` (token,
  name), ``as`` (a term of another kind), ``not``, ``missing``, ``negative``, ``butlast`` (term), ``and``, ``or``
  (terms), comparisons and arithmetic by their signs (two terms), ``either`` (test, term, term), ``entry`` (list,
  place), ``call`` (a word, arguments), ``apply`` (a parameter that is a function, arguments) and ``resize`` (tile);
- of statements: ``let`` (name, term), ``set`` (state word, term), ``say`` (term), ``note`` (list, term), ``if`` (test,
  statements, statements), ``for`` (names, term, statements) and ``return`` (outcome, if any).
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterable
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, NoReturn

from step.firing.machine import Machine
from step.firing.terms import (
    BANKS,
    BOOL,
    CALCULATED,
    CHANNEL,
    CHANNELS,
    COMPARED,
    CONVERTED,
    COUNTED,
    ELEMENTS,
    ENTRIES,
    FUNCTION,
    INT,
    KINDS,
    MASK,
    NONE,
    NOTES,
    OUTCOME,
    PAIRS,
    PARTS,
    STATE,
    TOKEN,
    TOKENS,
    VALUE,
    Kind,
    RuleError,
    RuleTerm,
    signature,
)
from step.language.tokens import Token


class Rule:
    """The rule of a ``machine`` class: the ``fields`` that are its own, those ``changed``, and its ``body``.

    ``nodes`` are those of its syntax, ``locals`` are the kinds of its names, ``scope`` has what its other names mean.
    """

    def __init__(self, machine: type[Machine]) -> None:
        lines, self._first = inspect.getsourcelines(machine.fire)
        self._file = inspect.getsourcefile(machine.fire) or "?"
        (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
        assert isinstance(tree, ast.FunctionDef)
        self.machine, self.nodes = machine, [*ast.walk(tree)]
        self.scope: dict[str, Any] = machine.fire.__globals__
        self.fields = self._fields()
        stored = [each for each in self.nodes if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)]
        self.changed = {each.attr: RuleTerm("field", self.fields.get(each.attr, NONE), (), each) for each in stored}
        self.locals: dict[str, Kind] = {}
        self._scopes: list[dict[str, Kind]] = []
        self.body = self._block(tree.body)

    def initial(self, word: str) -> Any:
        """First value of a state word, or the value of a parameter that is not given; None: there is none."""
        default = next((each.default for each in fields(self.machine) if each.name == word), MISSING)
        return None if default is MISSING else default

    def place(self, node: ast.AST) -> str:
        """File and line of ``node``."""
        return f"{self._file}:{self._first + getattr(node, 'lineno', 1) - 1}"

    def refuse(self, node: ast.AST, what: str, hint: str) -> NoReturn:
        """Raise `RuleError` about ``node``."""
        raise RuleError(f"{self.place(node)}: a rule can not have {what}; {hint}")

    def _fields(self) -> dict[str, Kind]:
        """The kinds of the machine's own fields."""
        found = dict[str, Kind]()
        for field in fields(self.machine):
            if field.name not in Machine.__dataclass_fields__:
                annotation = str(field.type)
                kind = FUNCTION if annotation.startswith("Callable[") else KINDS.get(annotation)
                if kind is None:
                    what = f"{self.machine.__name__}.{field.name} is {annotation}, which no rule can have"
                    raise RuleError(f"{self._file}: {what}; what it can have is listed in step/firing/terms.py")
                found[field.name] = kind
        return found

    # -- statements ----------------------------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt]) -> tuple[RuleTerm, ...]:
        return tuple(RuleTerm(op, NONE, (*parts,), each) for each in statements for op, *parts in self._statement(each))

    def _statement(self, each: ast.stmt) -> Iterable[tuple[Any, ...]]:
        """The term of ``each`` statement; nothing for a docstring, or ``pass``."""
        match each:
            case ast.Assign(targets=[target], value=value):
                yield self._assign(target, value)
            case ast.AugAssign(target=target, op=operation, value=value):
                yield self._assign(target, ast.copy_location(ast.BinOp(target, operation, value), each))
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=notes, attr="append"), args=[what])):
                name = notes.attr if isinstance(notes, ast.Attribute) else ""
                kind = self.fields[name] = NOTES.get(self.fields.get(name, NONE), self.fields.get(name, NONE))
                if kind not in NOTES.values():
                    hint = "it appends to lists of tokens or integers of its own"
                    self.refuse(each, f"{ast.unparse(notes)}.append", hint)
                yield "note", name, self.want(what, ELEMENTS[kind])
            case ast.Expr(value=ast.Call() as call):
                yield "say", self.term(call)
            case ast.If(test=test, body=body, orelse=orelse):
                yield "if", self.want(test, BOOL), self._block(body), self._block(orelse)
            case ast.For():
                yield self._loop(each)
            case ast.Return(value=value):
                yield ("return",) if value is None else ("return", self._outcome(value))
            case _:
                hint = "it has assignments, calls, if, for and return"
                self.refuse(each, f"a statement {type(each).__name__}", hint)

    def _assign(self, target: ast.expr, value: ast.expr) -> tuple[Any, ...]:
        match target:
            case ast.Name(id=name):
                if name not in self.locals:  # the kind of a name is that of what is assigned to it first
                    kind = self.term(value).kind
                    self.locals[name] = TOKEN if kind == NONE else kind
                return "let", name, self.want(value, self.locals[name])
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.fields:
                kind = self.fields[name]
                if kind not in STATE:
                    self.refuse(target, f"a change of self.{name}", f"it is {kind}, no state word")
                return "set", name, self.want(value, kind)
        return self.refuse(target, f"an assignment to {ast.unparse(target)}", "it assigns to names and its own words")

    def _loop(self, loop: ast.For) -> tuple[Any, ...]:
        match loop.target, loop.iter:
            case ast.Name(id=name), ast.Call(func=ast.Name(id="range"), args=[count]):
                over, names = self.want(count, INT), {name: INT}
            case ast.Name(id=name), _:
                over, names = self.want(loop.iter, CHANNELS), {name: CHANNEL}
            case ast.Tuple(elts=[ast.Name(id=one), ast.Name(id=other)]), _:
                over, names = self.want(loop.iter, PAIRS), {one: INT, other: INT}
            case _:
                self.refuse(loop, f"a loop over {ast.unparse(loop.iter)}", "it goes over channels, pairs and range(n)")
        self._scopes.append(names)
        body = self._block(loop.body)
        self._scopes.pop()
        return "for", tuple(names), over, body

    def _outcome(self, value: ast.expr) -> RuleTerm:
        match value:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                parts = self.want(test, BOOL), self._outcome(body), self._outcome(orelse)
                return RuleTerm("either", OUTCOME, parts, value)
            case ast.Constant(value=None):
                return RuleTerm("constant", OUTCOME, (None,), value)
            case ast.Name(id="COMPUTES" | "ENDS" as name):
                return RuleTerm("constant", OUTCOME, (name,), value)
        return self.refuse(value, f"the outcome {ast.unparse(value)}", "it returns COMPUTES, ENDS or None")

    # -- expressions ---------------------------------------------------------------------------------------------------

    def want(self, node: ast.expr, kind: Kind) -> RuleTerm:
        """``node`` where something of ``kind`` is wanted."""
        if isinstance(node, ast.IfExp):
            parts = self.want(node.test, BOOL), self.want(node.body, kind), self.want(node.orelse, kind)
            return RuleTerm("either", kind, parts, node)
        if kind == MASK and isinstance(node, ast.Constant) and node.value == 0:
            return RuleTerm("constant", MASK, (0,), node)
        found = self.term(node)
        if found.kind == kind:
            return found
        if kind not in CONVERTED.get(found.kind, ()):
            if kind == BOOL:
                hint = f"it is {found.kind}; say `is None` of what may be missing"
                self.refuse(node, f"{ast.unparse(node)} as a condition", hint)
            self.refuse(node, f"{ast.unparse(node)} here", f"it is {found.kind}, and {kind} is wanted")
        return RuleTerm("as", kind, (found,), node)

    def term(self, node: ast.expr) -> RuleTerm:
        """The term of ``node``."""

        def made(op: str, kind: Kind, *parts: Any) -> RuleTerm:
            return RuleTerm(op, kind, parts, node)

        match node:
            case ast.Constant(value=None):
                return made("constant", NONE, None)
            case ast.Constant(value=int() as number):
                return made("constant", BOOL if isinstance(number, bool) else INT, number)
            case ast.Name(id=name):
                for kinds in (*reversed(self._scopes), self.locals):
                    if name in kinds:
                        return made("local", kinds[name], name)
                if name not in self.scope:
                    self.refuse(node, f"the name {name} here", "nothing was assigned to it before")
                return self._named(node, self.scope[name])
            case ast.Attribute(value=ast.Name(id="self"), attr="inputs" | "outputs" as name):
                return made("ports", CHANNELS, name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                if name != "burst" and name not in self.fields:
                    self.refuse(node, f"self.{name}", f"it has {', '.join(['inputs', 'outputs', *self.fields])}")
                return made("field", self.fields.get(name, INT), name)
            case ast.Attribute(value=ast.Name(id=name), attr=member) if name not in self.locals:
                return self._named(node, getattr(self.scope.get(name), member, None))
            case ast.Attribute(value=token, attr=part) if part in PARTS:
                return made("part", PARTS[part], self.want(token, TOKEN), part)
            case ast.BoolOp(op=operation, values=parts):
                op = "and" if isinstance(operation, ast.And) else "or"
                return made(op, BOOL, *(self.want(each, BOOL) for each in parts))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return made("not", BOOL, self.want(operand, BOOL))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return made("negative", INT, self.want(operand, INT))
            case ast.Compare():
                return self._compare(node)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in CALCULATED:
                return made(CALCULATED[type(operation)], INT, self.want(left, INT), self.want(right, INT))
            case ast.IfExp(body=body, orelse=orelse):
                kind, other = self.term(body).kind, self.term(orelse).kind
                kind = other if kind == NONE or (kind, other) == (INT, MASK) else kind
                return self.want(node, kind)
            case ast.Subscript():
                return self._entry(node)
            case ast.Call():
                return self._call(node)
        return self.refuse(node, ast.unparse(node), "it compares and calculates, and says the words of step.firing")

    def _named(self, node: ast.expr, found: Any) -> RuleTerm:
        """The object that a name of the rule's file stands for."""
        if found is None or callable(found):
            self.refuse(node, ast.unparse(node), "it names integers, tokens and values")
        kind = BOOL if isinstance(found, bool) else INT if isinstance(found, int) else VALUE
        return RuleTerm("constant", TOKEN if isinstance(found, Token) else kind, (found,), node)

    def _compare(self, node: ast.Compare) -> RuleTerm:
        match node:
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as which], comparators=[ast.Constant(value=None)]):
                found = self.term(left)
                if found.kind not in (TOKEN, INT, BANKS):
                    self.refuse(node, ast.unparse(node), "only tokens, integers and banks may be missing")
                missing = RuleTerm("missing", BOOL, (found,), node)
                return missing if isinstance(which, ast.Is) else RuleTerm("not", BOOL, (missing,), node)
        parts, left = [], node.left
        for operation, right in zip(node.ops, node.comparators, strict=True):
            if type(operation) not in COMPARED:
                self.refuse(node, ast.unparse(node), f"it compares with {', '.join(COMPARED.values())} and `is None`")
            both = self.want(left, INT), self.want(right, INT)
            parts.append(RuleTerm(COMPARED[type(operation)], BOOL, both, node))
            left = right
        return RuleTerm("compare", BOOL, tuple(parts), node)

    def _entry(self, node: ast.Subscript) -> RuleTerm:
        listed = self.term(node.value)
        match node.slice:
            case ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)), step=None):
                if listed.kind == CHANNELS:
                    return RuleTerm("butlast", CHANNELS, (listed,), node)
            case ast.Slice():
                pass
            case place if listed.kind in ENTRIES:
                return RuleTerm("entry", ENTRIES[listed.kind], (listed, self.want(place, INT)), node)
        return self.refuse(node, ast.unparse(node), "it indexes channels, integers, tokens and tiles")

    def _call(self, node: ast.Call) -> RuleTerm:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="resize"), args=[tile], keywords=[]):
                return RuleTerm("resize", NONE, (self.want(tile, VALUE),), node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self")) as called, args=arguments):
                function = self.term(called)
                if function.kind == FUNCTION:
                    return RuleTerm("apply", VALUE, (*function.parts, *map(self._argument, arguments)), node)
            case ast.Call(func=ast.Name(id="len"), args=[listed], keywords=[]):
                found = self.term(listed)
                if found.kind in COUNTED:
                    return RuleTerm("call", INT, (len, found), node)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                word = self.scope.get(name, vars(builtins).get(name))
                kinds, least, result = signature(word)
                match arguments:
                    case [ast.Starred(value=tokens)] if kinds == (TOKENS,):
                        return RuleTerm("call", result, (word, self.want(tokens, TOKENS)), node)
                    case _ if least <= len(arguments) <= len(kinds):
                        return RuleTerm("call", result, (word, *map(self.want, arguments, kinds)), node)
        words = sorted(name for name, each in (vars(builtins) | self.scope).items() if signature(each)[0])
        return self.refuse(node, ast.unparse(node), f"it calls its own functions of values, and: {', '.join(words)}")

    def _argument(self, node: ast.expr) -> RuleTerm:
        """An operand of a function, or the tokens whose values are its operands."""
        match node:
            case ast.Starred(value=ast.Call(func=ast.Name(id="values"), args=[tokens], keywords=[])):
                return self.want(tokens, TOKENS)
        return self.want(node, VALUE)


@cache
def read(machine: type[Any]) -> Rule:
    """The rule of ``machine``; raises `RuleError`."""
    return Rule(machine)
