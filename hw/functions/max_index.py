"""Datapath of the largest scalars with their indices."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath
from hw.functions.order import ordered, scalar_of
from hw.links.packing import pack_element
from hw.links.words import in_words
from hw.primitives.delay import DelayLine
from hw.primitives.timing import held, word_window
from hw.verilog.modules import Shared
from step.functions.max_index import MaxIndex
from step.language.dtypes import UINT32
from step.language.types import Tile
from step.lowering.links import words
from step.lowering.plans.max_index import MaxIndexPlan
from step.lowering.plans.words import Words


class MaxIndexDatapath(Datapath, of=MaxIndex):
    """A state of keys: a value as an ordered number, and below it the index inverted, so that the larger key wins.

    It begins with the smallest value, and no index. Keys of a place are in order: one that is better than some takes
    the place of the first of them, and moves the others on.
    """

    plan: MaxIndexPlan

    def value(self, m: Module) -> Value:
        operands = self.plan.values, self.plan.indices
        number, comes = word_window(m, self.start, [each.words for each in operands])
        values, indices = (self._collected(m, port, each, number, comes[port]) for port, each in enumerate(operands))
        m.submodules.tags = tags = Shared(DelayLine(3, self.initiation_interval))
        m.d.comb += tags.i.eq(Cat(self.start, self.first, self.emit))
        updates, fresh, leaves = tags.o
        dtype = operands[0].dtype
        bits, one = dtype.bits, Tile(dtype)
        smallest, _ = MaxIndex().initial(MaxIndex().state_type((), one, Tile(UINT32)))
        nothing = Signal(bits + 32)
        m.d.comb += nothing.eq(Cat(C(0, 32), ordered(m, "smallest", C(pack_element(smallest, one), bits), dtype)))
        largest: list[Value] = []
        for at in range(operands[0].scalars):
            key, above = Signal(bits + 32, name=f"key_{at}"), tuple[Value, ...]()
            order = ordered(m, f"order_{at}", values.word_select(at, bits), dtype)
            m.d.comb += key.eq(Cat(~indices.word_select(at, 32), order))
            for place in range(at * self.plan.k, (at + 1) * self.plan.k):
                state = Signal(bits + 32, name=f"state_{place}", reset_less=True)
                before = Signal.like(state, name=f"before_{place}")
                m.d.comb += before.eq(Mux(fresh, nothing, state))
                better = updates & (key > before)
                kept = Mux(better, key, before)
                with m.If(updates | leaves):
                    m.d.sync += state.eq(Mux(*above, kept) if above else kept)
                above = better, before
                largest.append(state)
        begins = Signal()
        m.d.sync += begins.eq(leaves)
        found = Cat(scalar_of(each[32:], dtype) for each in largest), Cat(~each[:32] for each in largest)
        width, items = len(self.result), list[Value]()
        for each, count in zip(found, words(self.plan.items, self.plan.link_bits), strict=True):
            items += [each, C(0, width * count - len(each))]
        return in_words(m, Cat(items), begins, width)

    def _collected(self, m: Module, port: int, tile: Words, number: Value, comes: Value) -> Value:
        """The scalars of an operand, a cycle behind its last word."""
        word, name = getattr(self, f"operand{port}")[: tile.word_bits], f"operand{port}"
        return Cat(held(m, word, comes & (number == at), f"{name}_{at}") for at in range(tile.words))
