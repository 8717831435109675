"""Datapath of functions that treat every scalar of a tile alike."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath, no_datapath
from hw.functions.store import Parts, Store, WordRegisters
from hw.links.packing import pack_element
from hw.primitives.delay import DelayLine
from hw.primitives.memories import Shallow
from hw.primitives.timing import counter, delayed, loop_store, named, window, window_place, word_window
from hw.verilog.modules import Shared
from hw.verilog.naming import Spelling, function_words, tile_words
from step.language.dtypes import DType
from step.language.function import AccumFunction, Function
from step.language.types import Tile
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan
from step.lowering.plans.words import Schedule, Words


@dataclass(frozen=True)
class Lane(abc.ABC):
    """The datapath of ``function`` for one scalar of each operand, of ``formats``; the result is one of ``out``.

    ``stages``: those of `FabricConfig`. A reduction's first operand is its state.
    """

    function: Function
    formats: tuple[DType, ...]
    out: DType
    stages: int

    @property
    def depth(self) -> int:
        """Registers between operands and result."""
        return 0

    @abc.abstractmethod
    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        """Place the lane called ``name``; returns its result."""


def vector_datapath(lane: type[Lane], function: Function, application: Application, plan: VectorPlan) -> VectorDatapath:
    """The datapath of ``function``, each lane a ``lane``."""
    formats, identity = tuple(each.dtype for each in plan.operands), None
    out = plan.result.dtype
    if application.reduce:
        assert isinstance(function, AccumFunction)
        scalar = Tile(out)
        formats, identity = (out, *formats), pack_element(function.initial(scalar), scalar)
    return VectorDatapath(plan, lane(function, formats, out, application.fabric.stages), identity)


def on_lanes(
    lanes: Mapping[type[Function], type[Lane]],
) -> Callable[[Function, Application, VectorPlan], VectorDatapath]:
    """The ``datapath`` of a module whose functions have these ``lanes``: for tiles, on `vector_lanes` of them.

    The same under ``arithmetic="model"``.
    """

    def datapath(function: Function, application: Application, plan: VectorPlan) -> VectorDatapath:
        if type(function) not in lanes:
            raise no_datapath(function)
        return vector_datapath(lanes[type(function)], function, application, plan)

    return datapath


class Groups(NamedTuple):
    """The groups of a tile, one a cycle behind ``begins``: whether one is there, its ``number``, if it is the last."""

    begins: Value
    valid: Value
    number: Value
    last: Value


class VectorDatapath(Datapath):
    """``result`` = ``lane`` of the operands, scalar by scalar, in the groups of the plan.

    ``identity`` makes it a reduction from these bits on: the state is the lane's first operand.
    """

    plan: VectorPlan

    def __init__(self, plan: VectorPlan, lane: Lane, identity: int | None) -> None:
        self.lane, self.operands, self.shape, self.identity = lane, plan.operands, plan.result, identity
        self.lanes, self.groups = plan.lanes, plan.groups
        cycles, reduce = 1 + lane.depth, identity is not None
        super().__init__(
            plan,
            [each.word_bits for each in self.operands],
            self.shape.word_bits,
            reduce=reduce,
            latency=plan.gathering + cycles + plan.waiting,
            busy=max(self.groups, cycles if reduce else 1),
            most_rows=self.shape.rows if plan.dynamic else 0,
        )
        self.parameters = {
            "lane": self.lane,
            "operands": self.operands,
            "result": self.shape,
            "lanes": self.lanes,
            "initial": self.identity,
            "dynamic": self.plan.dynamic,
        }

    @property
    def key(self) -> str:
        return f"{type(self.lane).__module__} {super().key}"

    @property
    def spelling(self) -> Spelling:
        to = ("to", *tile_words(self.shape)) if self.shape not in self.operands else ()
        how = "reduce" if self.identity is not None else "", "dynamic" if self.plan.dynamic else ""
        function = function_words(self.lane.function)
        return Spelling.some(*function, *tile_words(*self.operands), *to, *how, f"lanes{self.lanes}")

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        number, word_valid = word_window(m, self.start, [each.beats for each in self.operands])
        read, entered = self._windows(m, number)
        operands = [self._operand(m, port, valid, number, read) for port, valid in enumerate(word_valid)]
        results = Signal(self.lanes * self.shape.dtype.bits)
        result_valid = delayed(m, entered.valid, self.lane.depth, "arrives")
        if self.identity is None:
            self._finish_map(m, results, result_valid, entered.last)
        else:
            operands.insert(0, named(m, self._reduce(m, results, result_valid, entered), "state"))
        scalars = [[each.word_select(lane, len(each) // self.lanes) for each in operands] for lane in range(self.lanes)]
        m.d.comb += results.eq(Cat(self.lane.connect(m, f"lane_{lane}", each) for lane, each in enumerate(scalars)))
        return m

    def _windows(self, m: Module, number: Value) -> tuple[Groups, Groups]:
        """The groups of a tile as they are read out of what came, and as they enter the lanes; ``number``: of a word.

        Operands that need not be gathered are not read: their words enter as they come.
        """
        count, never = self.plan.groups_of(self.rows_now(m)) if self.plan.dynamic else None, C(0, 1)
        if not self.plan.gathering:
            entered = Groups(self.start, *window(m, "group", self.start, self.groups, count))
            return Groups(self.start, never, never, never), entered
        begins = self.start if self.plan.gathering == 1 else number == self.plan.gathering - 1
        read = Groups(begins, *window(m, "group", begins, self.groups, count))
        names = ("begins", "enters", "at", *(["ends"] if self.plan.dynamic else []))
        later = [delayed(m, each, 1, name) for each, name in zip(read, names, strict=False)]
        return read, Groups(*later, *([] if self.plan.dynamic else [read.last]))

    # -- operands -----------------------------------------------------------------------------------------------

    def _indices(self, operand: Words, group: int) -> list[int]:
        """The scalars of an operand in a group; a lane beyond the end has nothing to do."""
        found = []
        for scalar in range(group * self.lanes, min((group + 1) * self.lanes, self.shape.rows * self.shape.cols)):
            row, col = divmod(scalar, self.shape.cols)
            found.append((row if operand.rows > 1 else 0) * operand.cols + col * operand.cols // self.shape.cols)
        return found

    def _group(self, element: Value, operand: Words, group: int) -> Value:
        """A group of an operand out of all its scalars."""
        bits = operand.dtype.bits
        scalars: list[Value] = [element.word_select(index, bits) for index in self._indices(operand, group)]
        return Cat(*scalars, C(0, (self.lanes - len(scalars)) * bits))

    def _operand(self, m: Module, port: int, valid: Value, number: Value, read: Groups) -> Value:
        """An operand's group that enters the lanes now, when the words with their ``number`` are ``valid``."""
        operand = self.operands[port]
        if self.plan.uses(operand) is None and self.plan.gathering <= 1:
            word = delayed(m, getattr(self, f"operand{port}"), self.plan.gathering + 1, f"operand{port}")
            return self._group(word, operand, 0)
        return delayed(m, self._stored_group(m, port, valid, number, read), 1, f"operand{port}_group")

    def _stored_group(self, m: Module, port: int, valid: Value, number: Value, read: Groups) -> Value:
        """The group that is read now, out of the words that came."""
        operand, word, name = self.operands[port], getattr(self, f"operand{port}"), f"operand{port}"
        schedule = self.plan.uses(operand) or Schedule(tuple((at, at) for at in range(self.groups)))
        copies = schedule.copies(self.plan.gathering, self.initiation_interval)
        if self.plan.dynamic:  # tiles of one row follow each other at once
            copies = 1 if self.plan.gathering == 1 else 2
        if self.plan.dynamic and copies == 2:
            filled = Signal(name=f"{name}_filled", init=1)
            into = filled ^ self.start
            m.d.sync += filled.eq(into)
        else:
            into, _ = counter(m, copies, f"{name}_written", valid & (number == operand.beats - 1))
        out, _ = counter(m, copies, f"{name}_read", read.valid & read.last)
        if not self.plan.repeats(operand):
            words, groups = Parts(operand.beats, len(word)), Parts(self.groups, self.lanes * operand.dtype.bits)
            store = Store(m, name, words, groups, copies)
            store.write(valid, number, into, word)
            return store.read(read.number, out)
        registers = WordRegisters(m, name, operand.beats, len(word), copies)
        registers.write(valid, number, into, word)
        every = range(self.groups)
        return registers.read(out, lambda element: [self._group(element, operand, at) for at in every], read.number)

    # -- results ------------------------------------------------------------------------------------------------

    def _result_store(self, m: Module, copies: int) -> Store:
        written = Parts(self.groups, self.lanes * self.shape.dtype.bits)
        return Store(m, "result_store", written, Parts(self.shape.beats, len(self.result)), copies)

    def _finish_map(self, m: Module, results: Value, valid: Value, ends: Value) -> None:
        """Let the results leave as words, as they are ``valid``; the group that enters ``ends`` a tile."""
        if self.plan.leaves_at_once:
            m.d.comb += self.result.eq(results)
            return
        group = self._result_group(m, valid, ends)
        if self.plan.dynamic:
            word = window_place(m, "word", self.leave, self.shape.beats)
        else:
            begins = valid & (group == self.plan.waiting - 1)
            _, word, _ = window(m, "word", begins, self.shape.beats)
        store = self._result_store(m, 1)  # a word leaves before the next element's groups come to its place
        store.write(valid, group, C(0, 1), results)
        m.d.comb += self.result.eq(store.read(word, C(0, 1)))

    def _result_group(self, m: Module, valid: Value, ends: Value) -> Value:
        """The number of the result that is ``valid``, where the group that enters the lanes ``ends`` a tile."""
        if not self.plan.dynamic:
            group, _ = counter(m, self.groups, "result_group", valid)
            return group
        number, last = Signal(range(self.groups), name="result_group"), delayed(m, ends, self.lane.depth, "result_ends")
        with m.If(valid):
            m.d.sync += number.eq(Mux(last, 0, number + 1))
        return number

    def _reduce(self, m: Module, results: Value, valid: Value, entered: Groups) -> Value:
        """Keep the results as the state; returns its group that enters, which is the lanes' first operand.

        A state that leaves late, by an ``emit`` alone, may meet a new reduction; that goes into another copy, unless
        its groups come no earlier than the words of the old one leave. One of dynamic size never does: whoever lets it
        leave is busy for its groups.
        """
        assert self.identity is not None
        copies = 1 if self.shape.beats == self.groups or self.plan.dynamic else 2
        # of the reduction that began last
        fresh = Signal(reset_less=True)
        copy = Signal(range(copies))
        tags = Cat(Mux(self.start, self.first, fresh), copy ^ (self.start & self.first) if copies > 1 else copy)
        m.d.sync += Cat(fresh, copy).eq(tags)
        now = Signal(len(tags), reset_less=True)  # the same for the group that is in front of the lanes
        with m.If(entered.begins):
            m.d.sync += now.eq(Cat(fresh, copy) if self.plan.gathering else tags)
        group = self._result_group(m, valid, entered.last)
        store = self._result_store(m, copies)
        identity = Cat([C(self.identity, self.shape.dtype.bits)] * self.lanes)
        if self.plan.dynamic:  # where nothing was reduced there are no rows
            store.write(valid, group, C(0, 1), results)
            m.d.comb += self.result.eq(store.read(window_place(m, "word", self.leave, self.shape.beats), C(0, 1)))
            states = Shallow(m, "states", len(results), self.groups)
            states.write(valid, group, results)
            return Mux(now[0], identity, states.read(entered.number))
        store.write(valid, group, delayed(m, now[1:], self.lane.depth, "copy"), results)
        self._emit(m, store, tags[1:])
        return Mux(now[0], identity, loop_store(m, self.groups, entered.number, valid, results))

    def _emit(self, m: Module, store: Store, copy: Value) -> None:
        """Let the state leave, from ``copy`` of the store, or the identity where nothing was reduced."""
        assert self.identity is not None
        m.submodules.emits = emits = Shared(DelayLine(2 + len(copy), self.latency - 1))
        m.d.comb += emits.i.eq(Cat(self.emit, self.first & ~self.start, copy))
        _, word, _ = window(m, "word", emits.o[0], self.shape.beats)
        leaving = Signal(len(emits.o) - 1, reset_less=True)
        with m.If(emits.o[0]):
            m.d.sync += leaving.eq(emits.o[1:])
        shape, bits = self.shape, self.shape.dtype.bits
        nothing = sum(self.identity << at * bits for at in range(shape.bits // bits))
        words = [nothing >> at * shape.link_bits & (1 << shape.word_bits) - 1 for at in range(shape.beats)]
        parts = [C(each, shape.word_bits) for each in words]
        identity = parts[0] if len({*words}) == 1 else Array(parts)[word]
        m.d.comb += self.result.eq(Mux(leaving[0], identity, store.read(word, leaving[1:])))
