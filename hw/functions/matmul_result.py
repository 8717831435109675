"""The result of a matrix product: from sums to words."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from hw.functions.corner_turn import CornerTurn
from hw.functions.matmul_moves import item_bits, result_moves
from hw.functions.shift_out import ShiftOut, leaves_in_order
from hw.primitives.delay import DelayLine
from hw.primitives.timing import counter, delayed, held, registered
from hw.verilog.modules import Shared
from step.lowering.plans.matmul_plan import MatmulPlan


class States:
    """States of a reduction: which one an element is for, and which one is to leave.

    An element apart from a state that is to leave, or left, is for another one, in the next place of the store.
    ``first``: the element on the lanes begins a reduction, and ``place`` is where its state goes, in the order of the
    lanes. ``leaving``: a state is to leave, nothing was reduced to it, and its place.
    """

    def __init__(self, m: Module, plan: MatmulPlan, start: Value, first: Value, emit: Value, begins: Value) -> None:
        left, last = Signal(), Signal(range(plan.results), name="last_place")
        place = Signal.like(last, name="place_of_state")
        m.d.comb += place.eq(Mux(start & left, Mux(last == plan.results - 1, 0, last + 1), last))
        m.d.sync += last.eq(place)
        with m.If(start):
            m.d.sync += left.eq(emit)
        with m.Elif(emit):
            m.d.sync += left.eq(1)
        given = held(m, Cat(first, place), start, "given")
        working = held(m, Mux(start, Cat(first, place), given), begins, "working")
        self.first, self.place = working[0], working[1:]
        self.leaving = Cat(emit, first & ~start, place)


def leave(m: Module, plan: MatmulPlan, sums: Value, complete: Value, start: Value, states: States | None) -> Value:
    """Keep the ``complete`` sums; returns the words that leave, of a reduction only where a state is to leave."""
    block, whole = counter(m, plan.arrangement.blocks, "complete_block", complete)
    m.submodules.leaving = line = Shared(
        DelayLine(len(states.leaving) if states else 1, plan.latency - 1 - plan.deep_results)
    )
    m.d.comb += line.i.eq(states.leaving if states else start)
    begins = line.o[0]
    last_word = plan.result.words - 1
    word = Signal(range(max(2, plan.result.words)), init=last_word, name="result_word")
    with m.If(begins):
        m.d.sync += word.eq(0)
    with m.Elif(word != last_word):
        m.d.sync += word.eq(word + 1)
    moves, width = result_moves(plan), item_bits(plan.result)
    if plan.shifts and leaves_in_order(moves):
        results = Shared(ShiftOut(moves, width))
        m.d.comb += results.shift.eq(word != last_word)
    else:
        results = Shared(CornerTurn(moves, width, plan.results, deep=plan.deep_results))
        m.d.comb += results.read_step.eq(word)
    m.submodules.results = results
    m.d.comb += [results.write.eq(complete), results.write_step.eq(block), results.values.eq(sums)]
    if states is not None:
        empty = Signal(reset_less=True)
        with m.If(begins):
            m.d.sync += [empty.eq(line.o[1]), results.read_part.eq(line.o[2:])]
        m.d.comb += results.write_part.eq(delayed(m, states.place, plan.depth, "place"))
        return Mux(registered(m, empty, "was_empty") if plan.deep_results else empty, 0, results.result)
    if plan.results > 1:
        written, _ = counter(m, plan.results, "written", complete & whole)
        read, _ = counter(m, plan.results, "read", begins)
        before = Signal.like(read, name="leaves")
        with m.If(begins):
            m.d.sync += before.eq(read)
        m.d.comb += [results.write_part.eq(written), results.read_part.eq(before)]
    return results.result
