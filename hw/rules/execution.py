"""A rule executed on symbols: its statements, on all paths at once."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from hw.links.layout import DynamicFormat, TokenFormat
from hw.rules.expressions import SOURCE, Known
from hw.rules.facts import Facts, Law, never
from hw.rules.numbers import Number, both, const, invert, leaf
from hw.rules.pace import Pace
from hw.rules.values import ANY, COMPUTED, Carried, Path, Port, Said, Symbol, joined
from hw.rules.words import Words, text_of
from step.firing.machine import Machine
from step.language.faults import Fault
from step.lowering.links import Span


class Execution(Pace):
    """One rule under execution, and the path behind its ``end``; ``names`` are those that it gives to numbers."""

    def __init__(
        self,
        machine: type[Machine],
        parameters: dict[str, Any],
        inputs: Sequence[TokenFormat],
        outputs: Sequence[TokenFormat],
    ) -> None:
        fronts = [_front(port, format) for port, format in enumerate(inputs)]
        super().__init__(text_of(machine), parameters, fronts, outputs)  # type: ignore[arg-type]
        self.names: dict[Number, str] = {}
        limits = {0, 1, *(each.rank for each in (*inputs, *outputs))}
        limits |= {each for each in self.text.constants if isinstance(each, int) and each >= 0}
        for value in parameters.values():
            if isinstance(value, int):
                limits |= {max(0, value - 1), value, value + 1}
        self.words = Words(self.text, parameters, limits, range(SOURCE, SOURCE + len(inputs)))
        self.end = Path(self._settled(), self.facts)
        self.flag = self.end.flag
        self._check_room()
        for port, format in enumerate(outputs):
            self._check_words(port, format)
        self.offsets = self._opened(inputs)
        self.check_moves()
        self.check_pace()

    def _settled(self) -> Said:
        """Effect of the rule, when its words have the ranges that it gives them."""
        while True:
            before, self.present = dict(self.words.ranges), self.words.present()
            laws: dict[Number, Law] = {}
            for each in (*self.fronts, *self.present.values()):
                if isinstance(each, Symbol) and {"stop", "rank", "done", "value"} <= each.numbers().keys():
                    laws |= each.laws()
            self.facts = Facts(laws)
            self.ends, self.too_late, self.aligned = [], {}, set()
            last = ast.copy_location(ast.Return(None), self.text.body[-1])
            said = self._run([*self.text.body, last], Path({("live",): const(1)}, self.facts))
            if self.words.ranges == before:
                return said

    @property
    def rows(self) -> Number | None:
        """The rows of the tiles of dynamic size by which the firing takes its time; None: there are none."""
        if ("resize",) in self.end.said:
            found: Number = self.end.said["resize",]
            return found
        return next(iter(self.rows_put()), None)

    def _opened(self, inputs: Sequence[TokenFormat]) -> tuple[Span, ...]:
        """By input, how many cycles behind a firing its words begin to come."""
        found: dict[int, Span] = {}
        for place in (each for output in range(len(self.outputs)) for each in self.split(output)[0]):
            begins = accumulate((tuple_words(inputs[each]) for each in place.ports), initial=place.begins)
            for port, begin in zip(place.ports, begins, strict=False):
                begin = begin if inputs[port].word_bits else Span()
                if found.setdefault(port, begin) != begin or (begin != Span() and port in self.held()):
                    hint, when = "all of an input come at one time, those of tokens that it holds at once", begin.at(1)
                    self.text.refuse(self.text.body[0], f"words of input {port} {when} cycles behind a firing", hint)
        return tuple(found.get(port, Span()) for port in range(len(inputs)))

    def _check_room(self) -> None:
        """Room must be where a token is put, and only there: else the floors disagree."""
        for port in range(len(self.outputs)):
            put, room = self.flag("put", port), self.flag("room", port)
            for one, other, what in ((put, room, "a put without room"), (room, put, "room without a put")):
                if not never(both(self.flag("live"), both(one, invert(other))), self.facts):
                    hint = "a firing says room for what it puts, no more"
                    self.text.refuse(self.text.body[0], f"{what} for output {port}", hint)

    def _check_words(self, port: int, format: TokenFormat) -> None:
        """Words come from one place; or, in its stead, from one constant; or from constants that are a word each."""
        places, literals = self.split(port)
        whole = all(each.is_whole for each in places)
        one_place = len(places) == 1 and len(literals) <= whole
        fine = (one_place if places else literals and format.beats <= 1) and COMPUTED not in self.ways(port).values()
        if not fine and (format.word_bits or not whole):
            what = " or ".join(dict.fromkeys(map(str, self.ways(port).values()))) or "nothing"
            hint = "they are those of one input, a constant instead, values side by side, or an item"
            self.text.refuse(self.text.body[0], f"the words of output {port} out of {what}", hint)

    # -- statements ----------------------------------------------------------------------------------------------------

    def _run(self, todo: list[ast.stmt], path: Path) -> Said:
        """Everything said behind ``todo``."""
        while todo:
            each, *todo = todo
            match each:
                case ast.Expr(value=ast.Constant(value=str())):
                    pass
                case ast.Expr(value=ast.Call(func=ast.Name(id="fault"), args=[code])):
                    self.in_order(each, path, "fault")
                    needs = {key: value for key, value in path.said.items() if key[0] == "need"}
                    return {**needs, ("fault",): self.number(code, path), ("live",): const(0)}
                case ast.Expr(value=ast.Call() as call):
                    self.value(call, path)
                case ast.Assign(targets=[target], value=value):
                    self._assign(target, self.value(value, path), path)
                    differ = path.said.pop(("differ",), const(0))
                    todo = [_when(differ, [_fault(Fault.STOPS_DISAGREE, each)]), *todo]
                case ast.Return(value=ast.IfExp(test=test, body=body, orelse=orelse)):
                    todo = [ast.If(test, [ast.Return(body)], [ast.Return(orelse)])]
                case ast.Return(value=value):
                    if isinstance(value, ast.Name) and value.id in ("COMPUTES", "ENDS"):
                        path.said[(value.id,)] = const(1)
                    self.ends.append((each, path))
                    return path.said
                case ast.For(target=ast.Name() as name, iter=over, body=body):
                    ports = self.value(over, path)
                    if not isinstance(ports, list) or not all(isinstance(each, Port) for each in ports):
                        self.text.refuse(each, f"a loop over {ast.unparse(over)}", "it goes over inputs or outputs")
                    todo = [*(_when(each.when, [ast.Assign([name], Known(each)), *body]) for each in ports), *todo]
                case ast.If(test=test, body=body, orelse=orelse):
                    found = self.truth(test, path)
                    yes, no = path.fork(found)
                    if yes is None or no is None:
                        path, todo = yes or no or path, [*(body if no is None else orelse), *todo]
                        continue
                    ends = _ends([*body, *orelse])
                    behind = todo if ends else []
                    yes.said, no.said = self._run([*body, *behind], yes), self._run([*orelse, *behind], no)
                    path.said = joined(found, yes, no)
                    if ends:
                        return path.said
                case _:
                    self.text.refuse(each, ast.unparse(each), "it has assignments, calls, if, for and return")
        return path.said

    def _assign(self, target: ast.expr, value: Any, path: Path) -> None:
        match target:
            case ast.Name(id=name):
                if isinstance(value, Number) and value.op not in ("leaf", "const"):
                    self.names.setdefault(value, name)
                path.said["name", name] = value
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                path.said["next", name] = const(1)
                path.said["word", name] = self.words.assigned(name, value, path.facts, target)
            case _:
                self.text.refuse(target, ast.unparse(target), "it assigns to names and its own words")


def tuple_words(format: TokenFormat) -> Span:
    """Words of an item in a tuple; those of control are there only."""
    if isinstance(format, DynamicFormat):
        return format.span
    return Span(format.beats or -(-format.bits // format.link_bits))


def _front(port: int, format: TokenFormat) -> Symbol:
    """The token in front of input ``port``."""

    def part(name: str, most: int) -> Number:
        return leaf(("input", port, name), 0, most)

    control = part("control", (1 << format.bits) - 1) if format.control else ANY
    rows = part("rows", format.most_rows) if isinstance(format, DynamicFormat) else ANY
    carries = Carried(part("value", 1), const(SOURCE + port), control, rows)
    return Symbol(part("stop", format.rank), part("rank", format.rank), part("done", 1), carries)


def _when(test: Number, body: list[ast.stmt]) -> ast.If:
    return ast.If(Known(test), body, [])


def _fault(code: Fault, place: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Expr(ast.Call(ast.Name("fault", ast.Load()), [Known(const(int(code)))], [])), place)


def _ends(statements: list[ast.stmt]) -> bool:
    """Whether ``statements`` may end the firing."""
    found = (each for statement in statements for each in ast.walk(statement))
    return any(isinstance(each, ast.Return) or (isinstance(each, ast.Name) and each.id == "fault") for each in found)


@cache
def executed(
    machine: type[Machine],
    parameters: tuple[tuple[str, Any], ...],
    inputs: tuple[TokenFormat, ...],
    outputs: tuple[TokenFormat, ...],
) -> Execution:
    """The rule of ``machine`` executed; raises `HardwareError` where no hardware can be made of it."""
    return Execution(machine, dict(parameters), inputs, outputs)
