"""What surrounds a unit under proof: any streams, in any rhythm, and outputs with space at any time.

A subclass asserts in `check` what the unit may do, cycle by cycle, in words of what went in and out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Assert, Assume, Cat, ClockDomain, Elaboratable, Module, Mux, Signal, Value

from hw.firing import machine as skeleton
from hw.firing.unit import FiringRule, Unit
from hw.functions.datapath import Datapath
from hw.links.layout import TokenFormat
from hw.rules import unit as units
from hw.rules.unit import Applying, Translated
from step.firing.declared import TILED, Applied, Declared
from step.firing.machine import Machine
from step.functions.select import SelectAll
from step.language.dtypes import INT8
from step.language.function import Function
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.plan import DatapathPlan, Timing
from step.rules.map import Map


@dataclass(frozen=True)
class Registered(DatapathPlan):
    """The plan of a datapath of any function, with a register behind it."""

    function: Function
    operand_widths: tuple[int, ...]
    result_width: int
    reduce: bool
    streams: bool

    takes_rows = False
    rows = 1
    operand_bits = property(lambda self: self.operand_widths)
    result_bits = property(lambda self: self.result_width)

    def at(self, rows: Any) -> Timing:
        return Timing(1, 1, self.streams)


def words(rank: int, count: int) -> TokenFormat:
    """A stream of values of ``count`` words. They have eight bits, of which the bench drives the lowest."""
    return TokenFormat(rank, (8 * count,), 8)


def dynamic(rank: int, most: int) -> TokenFormat:
    """A stream of tiles with ``most`` rows or fewer, each of a word as those of `words`."""
    tile = Tile(INT8, Graph("rows").symbol("R", ragged=True), 1)
    return TokenFormat.element(rank, tile, FabricConfig(link_bytes=1, dynamic_rows=most))


def control(rank: int, bits: int = 1) -> TokenFormat:
    """A stream of values that travel in the header."""
    return TokenFormat(rank, (bits,), 8, control=True)


def bare(rank: int) -> TokenFormat:
    """A stream of headers."""
    return TokenFormat(rank, (), 8)


def translated(
    machine: type[Machine], reads: Sequence[TokenFormat], writes: Sequence[TokenFormat], latency: int = 0, **given: Any
) -> Translated:
    """The rule of ``machine``, read for hardware at once."""
    rule = Translated.of(Declared(machine, given, latency), tuple(reads), tuple(writes))
    assert rule.execution
    return rule


def applied(
    machine: type[Machine],
    reads: Sequence[TokenFormat],
    result: TokenFormat,
    datapath: Datapath | None,
    module: Any = units,
    *,
    stored: bool = False,
    **given: Any,
) -> Applying:
    """The rule of ``machine``, which applies what ``datapath`` does, as ``module`` makes it."""
    function = Applied(SelectAll(1), reduces=not issubclass(machine, Map), stored=stored)
    given |= {"update" if function.reduces else "apply": function, "tiled": TILED}
    rule = module.Applying.of(Declared(machine, given), tuple(reads), (result,))
    rule = replace(rule, datapath=datapath)
    assert rule.execution
    return rule  # type: ignore[no-any-return]


class UnitBench(Elaboratable):
    """A unit with ``rule``: ``fronts``, ``visible`` and ``takes`` by input, ``puts`` and ``sent`` by output.

    Streams are any that the language has: Done last, behind whole tensors, values with a stop up to the rank, empties
    with their rank and stop, behind a stop that is as high. The words of a value, one bit each, are ``words`` while it
    is in front; ``oldest`` are those of the value that was not dropped for the longest time. They come as the channel
    gives them: one a cycle from the cycle after it is opened; anything behind them, or where it is opened too early.
    ``expects`` is what `check` says of the words that must follow a header, by output that has any; ``left`` says how
    many of them are to come.
    ``patience``: cycles in which the unit may do nothing although all inputs have a token, all outputs space, and no
    words are on their way out.
    ``skeleton`` is the module that makes a firing of the rule, or a unit.
    """

    def __init__(self, rule: FiringRule, skeleton: Any = skeleton) -> None:
        self.rule, self.skeleton = rule, skeleton
        self.clock = ClockDomain("sync", reset_less=True)
        inputs, outputs = list(enumerate(rule.inputs)), list(enumerate(rule.outputs))
        self.fronts: list[Any] = [Signal(each.header, name=f"front{port}") for port, each in inputs]
        self.visible = [Signal(name=f"visible{port}") for port, _ in inputs]
        self.takes = [Signal(name=f"take{port}") for port, _ in inputs]
        self.overs = [Signal(name=f"over{port}") for port, _ in inputs]
        self.words = [Signal(each.words, name=f"words{port}") for port, each in inputs]
        self.oldest = [Signal(each.words, name=f"oldest{port}") for port, each in inputs]
        self.noise = Signal()
        self.puts = [Signal(name=f"put{port}") for port, _ in outputs]
        self.sent: list[Any] = [Signal(each.header, name=f"sent{port}") for port, each in outputs]
        self.space = [Signal(name=f"space{port}") for port, _ in outputs]
        self.left = [Signal(range(each.words + 1), name=f"left{port}") for port, each in outputs]
        self.expects: dict[int, Any] = {}

    patience = 0

    @property
    def given(self) -> dict[str, Any]:
        """The parameters of a rule that is translated."""
        return dict(self.rule.parameters)  # type: ignore[attr-defined]

    @property
    def ports(self) -> list[Value]:
        given = (*self.fronts, *self.visible, *self.words, *self.space, self.noise)
        return [self.clock.clk, *(each for each in map(Value.cast, given) if len(each))]

    def check(self, m: Module, unit: Unit) -> None:
        """Assert what the unit may do."""
        raise NotImplementedError

    def follows(self, m: Module, claim: Value, *fields: Value) -> None:
        """What enters output 0 is what its claim said `FiringRule.latency` cycles ago: the header, and words."""
        put, sent, format = self.puts[0], self.sent[0], self.rule.outputs[0]
        *_, words = fields
        widths = [1, 1, len(sent.stop), len(sent.rank), len(words)]
        line = Cat(claim, *(field[:width] for field, width in zip(fields, widths, strict=True)))
        for cycle in range(self.rule.latency):
            later = Signal(line.shape(), name=f"later{cycle}")
            m.d.sync += later.eq(line)
            line = later
        header = Cat(sent.done, sent.value, sent.stop, sent.rank)
        m.d.comb += [Assert(put == line[0]), Assert(~put | (header == line[1 : 1 + len(header)]))]
        if getattr(format, "control", False):
            m.d.comb += Assert(~(put & sent.value) | (sent.control == line[-len(words) :]))
        self.expects[0] = line[-len(words) :]

    def _unit(self) -> Unit:
        if hasattr(self.skeleton, "Unit"):
            return self.skeleton.Unit(self.rule)
        return type("Skeleton", (Unit,), {"firing": self.skeleton.Firing})(self.rule)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = self.clock
        m.submodules.unit = unit = self._unit()
        for port, (front, visible, take) in enumerate(zip(self.fronts, self.visible, self.takes, strict=True)):
            channel = getattr(unit, f"input{port}")
            m.d.comb += [channel.header.eq(front), channel.valid.eq(visible), take.eq(visible & channel.ready)]
            self._stream(m, port, self.rule.inputs[port])
            if self.rule.inputs[port].word_bits:
                self._give_words(m, port, channel, unit.spare(port))
        for port, (put, sent, space) in enumerate(zip(self.puts, self.sent, self.space, strict=True)):
            channel = getattr(unit, f"output{port}")
            m.d.comb += [put.eq(channel.valid), sent.eq(channel.header), channel.space.eq(space)]
            m.d.comb += Assert(~channel.claim | space)
            waits = Signal(name=f"waits{port}")
            m.d.sync += waits.eq(space & ~channel.claim)
            m.d.comb += Assume(~waits | space)  # space that was not claimed stays
        self.check(m, unit)
        for port, format in enumerate(self.rule.outputs):
            if format.word_bits:
                self._expect_words(m, port, getattr(unit, f"output{port}").word)
        self._progress(m, unit)
        return m

    def _stream(self, m: Module, port: int, format: Any) -> None:
        """What stands at input ``port`` is a token, stays until it is taken, and nothing follows Done."""
        front, visible, take = self.fronts[port], self.visible[port], self.takes[port]
        now = Cat(front, self.words[port])
        before, stays, over = Signal(now.shape(), name=f"before{port}"), Signal(), self.overs[port]
        m.d.sync += [before.eq(now), stays.eq(visible & ~take), over.eq(over | (take & front.done))]
        m.d.comb += [Assume(~stays | (visible & (now == before))), Assume(~over | ~visible)]
        m.d.comb += Assume(is_token(front, format))
        ended = Signal(range(format.rank + 1), init=format.rank, name=f"ended{port}")  # the last stop
        with m.If(take):
            m.d.sync += ended.eq(front.stop)
        m.d.comb += [Assume(front.rank <= ended), Assume(~front.done | (ended == format.rank))]

    def _give_words(self, m: Module, port: int, channel: Any, spare: int) -> None:
        """A value is dropped once, when its header is taken or later; ``spare`` of those that are taken may stay."""
        words, oldest, taken = self.words[port], self.oldest[port], self.takes[port] & self.fronts[port].value
        kept, kept_words = Signal(name=f"kept{port}"), Signal(words.shape(), name=f"kept_words{port}")
        m.d.comb += [oldest.eq(Mux(kept, kept_words, words)), Assert(~channel.drop | kept | taken)]
        m.d.comb += Assert(kept + taken - channel.drop <= spare)
        m.d.sync += kept.eq(kept + taken - channel.drop)
        with m.If(taken):
            m.d.sync += kept_words.eq(words)
        burst = Signal(words.shape(), name=f"burst{port}")
        if not hasattr(channel, "open"):
            m.d.sync += burst.eq(oldest)
        else:
            there = channel.offset <= self._age(m, port, kept)
            opened = Mux(there, oldest >> channel.offset, self.noise.replicate(len(words)))
            m.d.sync += burst.eq(Mux(channel.open, opened, Cat(burst[1:], self.noise)))
        m.d.comb += channel.word.eq(burst[0])

    def _age(self, m: Module, port: int, kept: Value) -> Value:
        """For how many cycles the oldest value has been there, up to its last word."""
        last = self.rule.inputs[port].words - 1
        waited, kept_for = (
            Signal(range(last + 1), name=f"waited{port}"),
            Signal(range(last + 1), name=f"kept_for{port}"),
        )
        age = Mux(kept, kept_for, waited)
        older = Mux(age == last, last, age + 1)
        m.d.sync += waited.eq(Mux(self.takes[port] | ~self.visible[port], 0, Mux(waited == last, last, waited + 1)))
        m.d.sync += kept_for.eq(Mux(kept, older, Mux(waited == last, last, waited + 1)))
        return age

    def _expect_words(self, m: Module, port: int, word: Value) -> None:
        """The words of a value follow one a cycle behind its header, and those of the next one behind them."""
        format, begins = self.rule.outputs[port], self.puts[port] & self.sent[port].value
        most, words = format.words, format.words_of(self.sent[port].rows) if format.most_rows else format.words
        expected, left = Signal(most, name=f"expected{port}"), self.left[port]
        m.d.sync += expected.eq(Mux(begins, self.expects[port], expected >> 1))
        m.d.sync += left.eq(Mux(begins, words, Mux(left != 0, left - 1, 0)))
        m.d.comb += [Assert((left == 0) | (word == expected[0])), Assert(~begins | (left <= 1))]

    def _progress(self, m: Module, unit: Unit) -> None:
        """A unit that has all it may need does something within `patience` cycles, unless it met a fault or is done.

        It is done when it took Done from all inputs.
        """
        if self.overs:
            m.d.comb += Assert(unit.finished == Cat(*self.overs).all())
        idle = Signal(range(self.patience + 2))
        offered = Cat(*self.visible).all() & Cat(*self.space).all() & (unit.fault == 0) & ~unit.finished
        moves = Cat(*self.takes, *self.puts, *(left > 1 for left in self.left)).any()
        m.d.sync += idle.eq(Mux(offered & ~moves, idle + 1, 0))
        m.d.comb += Assert(~offered | moves | (idle < self.patience))


def is_token(token: Any, format: Any) -> Value:
    """Whether ``token`` is Done, a value with its stop, or an empty with its rank and stop; else it has no control."""
    done = token.done & ~token.value & (token.stop == 0) & (token.rank == 0)
    value = ~token.done & token.value & (token.stop <= format.rank) & (token.rank == 0)
    empty = ~token.done & ~token.value & (token.rank > 0) & (token.rank <= token.stop) & (token.stop <= format.rank)
    return (done | value | empty) & ((token.rows <= format.most_rows) if format.most_rows else 1)


def equal(token: Any, other: Any, **parts: Any) -> Value:
    """Whether ``token`` is ``other``, but for the fields in ``parts``; control and rows are those of values."""
    fields = {name: parts[name] if name in parts else other[name] for name in token.shape().members}
    of_values = Cat(token[name] == fields.pop(name) for name in ("control", "rows") if name in fields)
    return Cat(token[name] == field for name, field in fields.items()).all() & (~token.value | of_values.all())
