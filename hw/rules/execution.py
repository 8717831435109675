"""A rule executed on symbols: its statements, on all paths at once."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from hw.links.layout import TokenFormat
from hw.rules.expressions import SOURCE, given
from hw.rules.facts import Facts, Law, never
from hw.rules.numbers import Number, const, equal, leaf
from hw.rules.results import Results
from hw.rules.values import ANY, COMPUTED, STATE, Carried, Listing, Path, Said, Symbol, joined
from hw.rules.words import Words
from step.firing import words
from step.firing.machine import Machine
from step.firing.reading import read
from step.firing.terms import CHANNELS, PAIRS, RuleTerm
from step.language.faults import Fault
from step.language.loops import Stops
from step.lowering.links import Span

DOES = ("take", "put", "next", "applies", "reserve", "COMPUTES", "ENDS")
"""What a firing does, by word."""


class Execution(Results):
    """One rule under execution, and the path behind its ``end``; ``names`` are those that it gives to numbers."""

    def __init__(
        self,
        machine: type[Machine],
        parameters: dict[str, Any],
        inputs: Sequence[TokenFormat],
        outputs: Sequence[TokenFormat],
    ) -> None:
        fronts = [_front(port, format) for port, format in enumerate(inputs)]
        super().__init__(read(machine), parameters, fronts, outputs)  # type: ignore[arg-type]
        self.names: dict[Number, str] = {}
        limits = {0, 1, *(each.rank for each in (*inputs, *outputs)), *(each.most_rows for each in inputs)}
        constants = (each.value for each in self.rule.nodes if isinstance(each, ast.Constant))
        limits |= {each for each in constants if isinstance(each, int) and each >= 0}
        for value in parameters.values():
            value = len(value) if isinstance(value, Stops) else value
            if isinstance(value, int):
                limits |= {max(0, value - 1), value, value + 1}
        state = Carried(const(1), self.source(STATE), rows=const(0) if self.counts_rows else ANY)
        self.words = Words(self.rule, parameters, limits, range(SOURCE, SOURCE + len(inputs)), state)
        self.end = Path(self._settled(), self.facts)
        self.flag = self.end.flag
        starves = self.flag("starves")
        for key, said in self.end.said.items():  # it fires then, and does nothing: nothing else waits for the condition
            if key[0] in DOES and not never(starves & said, self.end.facts):
                self.end.said[key] = said & ~starves
        self._check_room()
        self._check_counters()
        for port, format in enumerate(outputs):
            if not self.applies:
                self._check_words(port, format)
        self.offsets = self._opened(inputs)
        self.check_moves()
        self.check_pace()
        self.check_results()

    def _settled(self) -> Said:
        """Effect of the rule, when its words have the ranges that it gives them."""
        while True:
            before, self.present = dict(self.words.ranges), self.words.present()
            laws: dict[Number, Law] = {}
            for each in (*self.fronts, *self.present.values()):
                if isinstance(each, Symbol) and {"stop", "rank", "done", "value"} <= each.numbers().keys():
                    laws |= each.laws()
            self.facts = Facts(laws)
            self.ends, self.too_late, self.aligned, self.passing, self.laws = [], {}, set(), None, laws
            self.counters.clear()
            last = self.rule.body[-1]._replace(op="return", parts=())
            said = self._run([*self.rule.body, last], Path({("live",): const(1)}, self.facts))
            if self.words.ranges == before:
                return said

    @property
    def rows(self) -> Number | None:
        """The rows of the tiles of dynamic size by which the firing takes its time; None: there are none."""
        if ("resize",) in self.end.said:
            return self.end.said["resize",]
        return next(iter(self.rows_put()), None)

    def _opened(self, inputs: Sequence[TokenFormat]) -> tuple[Span, ...]:
        """By input, how many cycles behind a firing its words begin to come."""
        found: dict[int, Span] = {}
        places = (each for output in range(len(self.outputs)) for each in self.split(output)[0])
        for place in (each for each in places if each.mask is None):
            begins = accumulate((tuple_words(inputs[each]) for each in place.ports), initial=place.begins)
            for port, begin in zip(place.ports, begins, strict=False):
                begin = begin if inputs[port].word_bits else Span()
                if found.setdefault(port, begin) != begin or (begin != Span() and port in self.held):
                    hint, when = "all of an input come at one time, those of tokens that it holds at once", begin.at(1)
                    self.refuse(self.rule.body[0], f"words of input {port} {when} cycles behind a firing", hint)
        return tuple(found.get(port, Span()) for port in range(len(inputs)))

    def _check_room(self) -> None:
        """Room must be where a token is put, and only there: else the floors disagree."""
        for port in range(len(self.outputs)):
            put, room = self.flag("put", port), self.flag("room", port)
            for one, other, what in ((put, room, "a put without room"), (room, put, "room without a put")):
                if not never(self.flag("live") & (one & ~other), self.facts):
                    hint = "a firing says room for what it puts, no more"
                    self.refuse(self.rule.body[0], f"{what} for output {port}", hint)

    def _check_counters(self) -> None:
        """State words that are counters begin with 0, go on by one, and at the last entry begin again or stay."""
        for name, (entry, *_) in self.counters.items():
            (word, loops, _), after = entry.args, self.end.said.get(("word", name))
            last, begins = equal(word, const(len(loops) - 1)), self.words.initial[name, ""] == 0
            for ends, wanted in ((True, const(0)), (False, word + const(1))):
                path = self.end.facts.assume(last, ends)
                path = path and path.assume(self.flag("next", name), True)
                goes = after is not None and path is not None and path.simple(after) is path.simple(wanted)
                if not (begins and (goes or (ends and path is None))):
                    hint = "it goes from 0 to the last one, by one, and begins again or stays"
                    self.refuse(self.rule.changed[name], f"self.{name} for {len(loops)} entries", hint)

    def _check_words(self, port: int, format: TokenFormat) -> None:
        """Words come from one place; or, in its stead, from one constant; or from constants that are a word each."""
        places, literals = self.split(port)
        whole = all(each.is_whole for each in places)
        one_place = len(places) == 1 and len(literals) <= whole
        ways = [*self.ways(port).values()]
        fine = (one_place if places else literals and format.words <= 1) and COMPUTED not in ways
        fine = fine or (len(ways) == 1 and isinstance(ways[0], Listing)) or self.token(port).has_value is const(0)
        if not fine and (format.word_bits or not whole):
            what = " or ".join(dict.fromkeys(map(str, ways))) or "nothing"
            hint = "they are those of one input, a constant instead, values side by side, or an item"
            self.refuse(self.rule.body[0], f"the words of output {port} out of {what}", hint)

    # -- statements ----------------------------------------------------------------------------------------------------

    def _run(self, todo: Sequence[RuleTerm], path: Path) -> Said:
        """Everything said behind ``todo``."""
        while todo:
            each, *todo = todo
            match each.op, *each.parts:
                case "say", RuleTerm(op="call", parts=(words.fault, code)):
                    self.in_order(each, path, "fault")
                    needs = {key: value for key, value in path.said.items() if key[0] in ("need", "starves")}
                    return {**needs, ("fault",): self.number(code, path), ("live",): const(0)}
                case "say", call:
                    self.value(call, path)
                case "let", name, term:
                    value = self.value(term, path)
                    if isinstance(value, Number) and value.op not in ("leaf", "const"):
                        self.names.setdefault(value, name)
                    path.said["name", name] = value
                    if (fails := path.said.pop(("fails",), None)) is not None:
                        todo = [_when(fails[0], [_fault(fails[1], each)], each), *todo]
                case "set", name, term:
                    value = self.value(term, path)
                    path.said["next", name] = const(1)
                    path.said["word", name] = self.words.assigned(name, value, path.facts, each)
                case "note", *_:
                    pass  # hardware leaves the noting to those who watch it
                case "return", RuleTerm(op="either", parts=(test, body, orelse)):
                    arms = ((each._replace(parts=(outcome,)),) for outcome in (body, orelse))
                    todo = [each._replace(op="if", parts=(test, *arms))]
                case "return", *outcome:
                    if outcome and (what := outcome[0].parts[0]) is not None:
                        path.said[(what,)] = const(1)
                    self.ends.append((each, path))
                    return path.said
                case "for", (name,), over, body if over.kind == CHANNELS:
                    ports = self.value(over, path)
                    todo = [*(_when(port.when, [_let(name, port, each), *body], each) for port in ports), *todo]
                case "for", names, over, body if over.kind == PAIRS:
                    for pair in reversed(self.value(over, path)):
                        todo = [*(_let(name, part, each) for name, part in zip(names, pair, strict=True)), *body, *todo]
                case "for", _, over, _:
                    self.refuse(each, f"a loop over {over}", "it goes over inputs, outputs or pairs")
                case "if", test, body, orelse:
                    found = self.truth(test, path)
                    yes, no = path.fork(found)
                    if yes is None or no is None:
                        path, todo = yes or no or path, [*(body if no is None else orelse), *todo]
                        continue
                    ends = any(map(_ends, (*body, *orelse)))
                    behind = todo if ends else []
                    yes.said, no.said = self._run([*body, *behind], yes), self._run([*orelse, *behind], no)
                    path.said = joined(found, yes, no)
                    if ends:
                        return path.said
                case _:
                    self.refuse(each, str(each), "it has assignments, calls, if, for and return")
        return path.said


def tuple_words(format: TokenFormat) -> Span:
    """Words of an item in a tuple; those of control are there only."""
    if format.most_rows:
        return format.span
    return Span(format.words or -(-format.bits // format.link_bits))


def _front(port: int, format: TokenFormat) -> Symbol:
    """The token in front of input ``port``."""

    def part(name: str, most: int) -> Number:
        return leaf(("input", port, name), 0, most)

    control = part("control", (1 << format.bits) - 1) if format.control else ANY
    rows = part("rows", format.most_rows) if format.most_rows else ANY
    carries = Carried(part("value", 1), const(SOURCE + port), control, rows)
    return Symbol(part("stop", format.rank), part("rank", format.rank), part("done", 1), carries)


def _when(test: Number, body: Sequence[RuleTerm], place: RuleTerm) -> RuleTerm:
    return place._replace(op="if", parts=(given(test, place), body, ()))


def _let(name: str, value: Any, place: RuleTerm) -> RuleTerm:
    return place._replace(op="let", parts=(name, given(value, place)))


def _fault(code: Fault, place: RuleTerm) -> RuleTerm:
    call = place._replace(op="call", parts=(words.fault, given(const(int(code)), place)))
    return place._replace(op="say", parts=(call,))


def _ends(statement: RuleTerm) -> bool:
    """Whether ``statement`` may end the firing."""
    match statement.op, *statement.parts:
        case ("return", *_) | ("say", RuleTerm(op="call", parts=(words.fault, _))):
            return True
        case ("if", _, *blocks) | ("for", _, _, *blocks):
            return any(_ends(each) for block in blocks for each in block)
    return False


@cache
def executed(
    machine: type[Machine],
    parameters: tuple[tuple[str, Any], ...],
    inputs: tuple[TokenFormat, ...],
    outputs: tuple[TokenFormat, ...],
) -> Execution:
    """The rule of ``machine`` executed; raises `HardwareError` where no hardware can be made of it."""
    return Execution(machine, dict(parameters), inputs, outputs)
