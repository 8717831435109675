"""Datapath of functions that treat every scalar of a tile alike."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath, Hardware
from hw.functions.store import Groups, Store, regrouped
from hw.links.packing import pack_element
from hw.primitives.delay import DelayLine
from hw.primitives.memories import Ram
from hw.primitives.timing import delayed, held, loop_store, named, window, window_place, word_window
from hw.verilog.modules import Shared
from hw.verilog.spelling import Spelling, function_words, tile_words
from step.language.function import AccumFunction
from step.language.types import Tile
from step.lowering.plans import vector as parts
from step.lowering.plans.vector import VectorPlan
from step.lowering.plans.words import Words


class Lane(Hardware, parts.Lane, abc.ABC):
    """The datapath of a `step.lowering.plans.vector.Lane`."""

    @classmethod
    def planned(cls, plan: VectorPlan) -> VectorDatapath:
        return VectorDatapath(cls, plan)

    @property
    def depth(self) -> int:
        """Registers between operands and result."""
        return self.cycles - 1

    @abc.abstractmethod
    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        """Place the lane called ``name``; returns its result."""


class VectorDatapath(Datapath):
    """``result`` = ``lane`` of the operands, scalar by scalar, in the groups of the plan.

    In a reduction the state is the lane's first operand.
    """

    plan: VectorPlan

    def __init__(self, lane: type[Lane], plan: VectorPlan) -> None:
        super().__init__(plan)
        self.lane = lane(**vars(plan.lane))
        self.shape, self.lanes, self.groups = plan.result, plan.lanes, plan.groups

    @property
    def key(self) -> str:
        return f"{type(self.lane.function).__module__} {super().key}"

    @property
    def spelling(self) -> Spelling:
        plan, operands = self.plan, self.plan.operands
        to = ("to", *tile_words(self.shape)) if self.shape not in operands else ()
        how = "reduce" if plan.reduce else "", "dynamic" if plan.most_rows else ""
        function = function_words(self.lane.function)
        return Spelling.some(*function, *tile_words(*operands), *to, *how, f"lanes{self.lanes}")

    def value(self, m: Module) -> Value:
        number, word_valid = word_window(m, self.start, [each.words for each in self.plan.operands])
        read, entered = self._windows(m, number)
        operands = [self._operand(m, port, valid, number, read) for port, valid in enumerate(word_valid)]
        results = Signal(self.lanes * self.shape.dtype.bits)
        result_valid = delayed(m, entered.valid, self.lane.depth, "arrives")
        if self.plan.reduce:
            state, word = self._reduce(m, results, result_valid, entered)
            operands.insert(0, named(m, state, "state"))
        else:
            word = self._finish_map(m, results, result_valid, entered.last)
        scalars = [[each.word_select(lane, len(each) // self.lanes) for each in operands] for lane in range(self.lanes)]
        m.d.comb += results.eq(Cat(self.lane.connect(m, f"lane_{lane}", each) for lane, each in enumerate(scalars)))
        return word

    def _windows(self, m: Module, number: Value) -> tuple[Groups, Groups]:
        """The groups of a tile as they are read out of what came, and as they enter the lanes; ``number``: of a word.

        Operands that need not be gathered are not read: their words enter as they come.
        """
        if not self.plan.gathering:
            never, count = C(0, 1), self.plan.groups_of(self.rows) if self.plan.most_rows else None
            entered = Groups(self.start, *window(m, "group", self.start, self.groups, count))
            return Groups(self.start, never, never, never), entered
        read = self.gathered(m, number, self.groups)
        names = ("begins", "enters", "at", *(["ends"] if self.plan.most_rows else []))
        later = [delayed(m, each, 1, name) for each, name in zip(read, names, strict=False)]
        return read, Groups(*later, *([] if self.plan.most_rows else [read.last]))

    # -- operands -----------------------------------------------------------------------------------------------

    def _group(self, element: Value, operand: Words, group: int) -> Value:
        """A group of an operand out of all its scalars; a lane beyond the end has nothing to do."""
        bits, cols, found = operand.dtype.bits, self.shape.cols, list[Value]()
        for scalar in range(group * self.lanes, min((group + 1) * self.lanes, self.shape.scalars)):
            row, col = divmod(scalar, cols)
            place = (row if operand.rows > 1 else 0) * operand.cols + col * operand.cols // cols
            found.append(element.word_select(place, bits))
        return Cat(*found, C(0, (self.lanes - len(found)) * bits))

    def _operand(self, m: Module, port: int, valid: Value, number: Value, read: Groups) -> Value:
        """An operand's group that enters the lanes now, when the words with their ``number`` are ``valid``."""
        operand, name = self.plan.operands[port], f"operand{port}"
        word, store = getattr(self, name), self.plan.store(operand)
        if store is None:
            return self._group(delayed(m, word, self.plan.gathering + 1, name), operand, 0)
        toggles = self.start if self.plan.most_rows else None

        def groups(element: Value) -> list[Value]:
            return [self._group(element, operand, at) for at in range(store.read.count)]

        found = regrouped(m, name, store, groups, (valid, number, word), read, toggles)
        return delayed(m, found, 1, f"{name}_group")

    # -- results ------------------------------------------------------------------------------------------------

    def _finish_map(self, m: Module, results: Value, valid: Value, ends: Value) -> Value:
        """Let the results leave as words, as they are ``valid``; the group that enters ``ends`` a tile."""
        if self.plan.result_store is None:
            return results
        group, _ = self.result_group(m, self.groups, valid, ends, self.lane.depth)
        if self.plan.most_rows:
            word = window_place(m, "word", self.leave, self.shape.words)
        else:
            begins = valid & (group == self.plan.waiting - 1)
            _, word, _ = window(m, "word", begins, self.shape.words)
        store = Store(m, "result_store", self.plan.result_store)
        store.write(valid, group, results)
        return store.read(word)

    def _reduce(self, m: Module, results: Value, valid: Value, entered: Groups) -> tuple[Value, Value]:
        """Keep the results as the state; its group that enters, the lanes' first operand, and the word that leaves."""
        function, scalar = self.lane.function, Tile(self.shape.dtype)
        assert isinstance(function, AccumFunction) and self.plan.result_store is not None
        initial, copies = pack_element(function.initial(scalar), scalar), self.plan.result_store.copies
        # of the reduction that began last
        fresh = Signal(reset_less=True)
        copy = Signal(range(copies))
        tags = Cat(Mux(self.start, self.first, fresh), copy ^ (self.start & self.first) if copies > 1 else copy)
        m.d.sync += Cat(fresh, copy).eq(tags)
        # the same for the group that is in front of the lanes
        now = held(m, Cat(fresh, copy) if self.plan.gathering else tags, entered.begins, "now")
        group, _ = self.result_group(m, self.groups, valid, entered.last, self.lane.depth)
        store = Store(m, "result_store", self.plan.result_store)
        identity = Cat([C(initial, scalar.bits)] * self.lanes)
        if self.plan.most_rows:  # where nothing was reduced there are no rows
            store.write(valid, group, results)
            states = Ram(m, "states", len(results), self.groups)
            states.write(valid, group, results)
            word = store.read(window_place(m, "word", self.leave, self.shape.words))
            return Mux(now[0], identity, states.read(entered.number)), word
        store.write(valid, group, results, delayed(m, now[1:], self.lane.depth, "copy"))
        state = Mux(now[0], identity, loop_store(m, self.groups, entered.number, valid, results))
        return state, self._emit(m, store, tags[1:], initial)

    def _emit(self, m: Module, store: Store, copy: Value, initial: int) -> Value:
        """Let the state leave, from ``copy`` of the store, or as it was ``initial`` where nothing was reduced."""
        m.submodules.emits = emits = Shared(DelayLine(2 + len(copy), self.latency - 1))
        m.d.comb += emits.i.eq(Cat(self.emit, self.first & ~self.start, copy))
        _, word, _ = window(m, "word", emits.o[0], self.shape.words)
        leaving = held(m, emits.o[1:], emits.o[0], "leaving")
        shape, bits = self.shape, self.shape.dtype.bits
        nothing = sum(initial << at * bits for at in range(shape.bits // bits))
        words = [nothing >> at * shape.link_bits & (1 << shape.word_bits) - 1 for at in range(shape.words)]
        parts = [C(each, shape.word_bits) for each in words]
        identity = parts[0] if len({*words}) == 1 else Array(parts)[word]
        return Mux(leaving[0], identity, store.read(word, leaving[1:]))
