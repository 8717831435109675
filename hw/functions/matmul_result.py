"""The result of a matrix product: from sums to words."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from hw.functions.corner_turn import CornerTurn
from hw.functions.datapath import Datapath
from hw.functions.matmul_moves import item_bits, result_moves
from hw.functions.matmul_order import Working
from hw.functions.shift_out import ShiftOut, leaves_in_order
from hw.primitives.delay import DelayLine
from hw.primitives.timing import becomes, counter, counts, delayed, held, registered
from hw.verilog.modules import Shared
from step.lowering.plans.matmul_plan import MatmulPlan


class States:
    """States of a reduction: which one an element is for, and which one is to leave.

    An element apart from a state that is to leave, or left, is for another one, in the next place of the store.
    ``first``: the element on the lanes begins a reduction, and ``place`` is where its state goes, in the order of the
    lanes. ``leaving``: a state is to leave, nothing was reduced to it, and its place.
    """

    def __init__(self, m: Module, path: Datapath, results: int, begins: Value) -> None:
        start, first, emit = path.start, path.first, path.emit
        left = Signal(init=1)
        last = Signal(range(results), init=results - 1, name="last_place")
        place = Signal.like(last, name="place_of_state")
        m.d.comb += place.eq(Mux(start & left, Mux(last == results - 1, 0, last + 1), last))
        m.d.sync += last.eq(place)
        with m.If(start | emit):
            m.d.sync += left.eq(emit)
        given = held(m, Cat(first, place), start, "given")
        working = held(m, Mux(start, Cat(first, place), given), begins, "working")
        self.first, self.place = working[0], working[1:]
        self.leaving = Cat(emit, first & ~start, place)


def leave(
    m: Module, path: Datapath, plan: MatmulPlan, sums: Value, complete: Value, order: Working, states: States | None
) -> Value:
    """Keep the ``complete`` sums; returns the words that leave, of a reduction only where a state is to leave.

    Known products leave when their latency is over; of those with any number of rows the unit tells when.
    """
    at_once = plan.most_rows > 0 and plan.deep_results
    if plan.most_rows:
        begins = path.leave
        tags = Signal(0)
        block = Signal(range(max(2, plan.arrangement.blocks)), name="complete_block")
        whole = delayed(m, order.last, plan.depth, "last")
        counts(m, block, complete, whole)
    else:
        block, whole = counter(m, plan.arrangement.blocks, "complete_block", complete)
        leaving = states.leaving if states else path.start
        m.submodules.leaving = line = Shared(DelayLine(len(leaving), plan.latency - 1 - plan.deep_results))
        m.d.comb += line.i.eq(leaving)
        begins, tags = line.o[0], line.o[1:]
    last_word = plan.result.words - 1
    word = Signal(range(max(2, plan.result.words)), init=last_word, name="result_word")
    becomes(m, word, (begins, 0), (word != last_word, word + 1))
    moves, width = result_moves(plan), item_bits(plan.result)
    if plan.shifts and leaves_in_order(moves):
        results = Shared(ShiftOut(moves, width))
        m.d.comb += results.shift.eq(word != last_word)
    else:
        results = Shared(CornerTurn(moves, width, plan.results, deep=plan.deep_results))
        m.d.comb += results.read_step.eq(Mux(begins, 0, word + 1) if at_once else word)
    m.submodules.results = results
    m.d.comb += [results.write.eq(complete), results.write_step.eq(block), results.values.eq(sums)]
    if plan.results > 1:
        written = counter(m, plan.results, "written", complete & whole)[0] if states is None else states.place
        following = tags[1:] if len(tags) else counter(m, plan.results, "read", begins)[0]
        part: Value = held(m, following, begins, "leaves")
        m.d.comb += [
            results.write_part.eq(written if states is None else delayed(m, written, plan.depth, "place")),
            results.read_part.eq(Mux(begins, following, part) if at_once else part),
        ]
    if not len(tags):
        return results.result
    empty = held(m, tags[0], begins, "empty")
    return Mux(registered(m, empty, "was_empty") if plan.deep_results else empty, 0, results.result)
