"""The lanes of a matrix product, and the sums that go round through them."""

from __future__ import annotations

from itertools import product

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.convert import converted
from hw.arithmetic.multiply_accumulate import IntegerMultiplyAccumulate, MultiplyAccumulate
from hw.functions.matmul_order import Working
from hw.primitives.memories import Ram
from hw.primitives.timing import delayed, registered
from hw.verilog.modules import Shared
from step.language.dtypes import BF16, FP32
from step.lowering.plans.matmul_plan import MatmulPlan

Lane = MultiplyAccumulate | IntegerMultiplyAccumulate


def lane_of(plan: MatmulPlan, *, pairs: bool = False) -> Lane:
    """The multiplier and adder of a lane, or of ``pairs`` of them."""
    second = plan.operands[1].dtype
    if second is BF16:
        return MultiplyAccumulate(plan.arrangement.stages, plan.terms)
    return IntegerMultiplyAccumulate(second.bits, pairs=pairs, width=plan.sum_bits)


def accumulate(m: Module, plan: MatmulPlan, scalars: list[Value], order: Working, fresh: Value) -> Value:
    """The sums that leave the lanes, of ``scalars`` a cycle behind ``order``; where ``fresh``, from zero on."""
    shape, lane = plan.arrangement, lane_of(plan)
    first_bits, second_bits = (each.dtype.bits * plan.terms for each in plan.operands)
    bits = plan.sum_bits
    sums = Signal(shape.lanes * plan.sum_bits)
    wanted = lane.product_cycles + any(plan.deep_operands) + 1  # cycles from the order to when a state is wanted
    state = _state(m, plan, lane, order, fresh, sums, wanted)
    begins = delayed(m, fresh, wanted, "fresh") if lane.begins else None
    for i, j in product(range(shape.block_rows), range(0, shape.block_cols, plan.neighbours)):
        number, count = i * shape.block_cols + j, min(plan.neighbours, shape.block_cols - j)
        m.submodules[f"lane_{number}"] = unit = Shared(lane_of(plan, pairs=count > 1))
        m.d.comb += [
            unit.first.eq(scalars[0].word_select(i, first_bits)),
            unit.second.eq(scalars[1][j * second_bits : (j + count) * second_bits]),
            unit.sum.eq(state[number * bits : (number + count) * bits]),
            sums[number * bits : (number + count) * bits].eq(unit.result),
        ]
        if begins is not None:
            m.d.comb += unit.fresh.eq(begins)
    if plan.result.dtype is BF16:
        return _rounded(m, sums)
    narrow = (sums.word_select(lane, bits) for lane in range(shape.lanes))
    return Cat(Cat(each, each[-1].replicate(32 - bits)) for each in narrow)


def _state(m: Module, plan: MatmulPlan, lane: Lane, order: Working, fresh: Value, sums: Value, wanted: int) -> Value:
    """The state that the lanes add to, ``wanted`` cycles behind the order: when their products are there.

    In a turn that takes as long as a sum that is what leaves them, else it waits in a store: also a state that an
    element behind a pause will want. From there it goes to the lanes at once, or where turns are longer than a sum
    through a register. A place of the store that is read for a ``fresh`` sum may never have been written.
    """

    def begun(value: Value, cycles: int) -> Value:
        return value if lane.begins else Mux(delayed(m, fresh, cycles, "fresh"), 0, value)

    shape = plan.arrangement
    if shape.inner == 1 and not plan.reduce:
        return C(0, len(sums))
    if plan.turns[1] == shape.stages and not plan.reduce:
        return registered(m, begun(sums, wanted - 1), "state")
    place, at_once = order.place(of_turn=not plan.reduce), plan.turns[0] == shape.stages
    read = delayed(m, Cat(order.active, place), wanted - 1 + at_once, "read")
    written = delayed(m, read, 1 - at_once + lane.sum_cycles, "written")
    store = Ram(m, "states", len(sums), plan.sums, deep=plan.deep_sums)
    store.write(written[0], written[1:], sums)
    state = store.read(read[1:])
    if at_once or plan.deep_sums:
        return begun(state, wanted)
    return registered(m, begun(state, wanted - 1), "state")


def _rounded(m: Module, sums: Value) -> Value:
    """The sums of the cycle before in the format of the result."""
    before = registered(m, sums, "unrounded")
    words = (before.word_select(number, 32) for number in range(len(sums) // 32))
    return Cat(converted(m, f"round_{number}", word, FP32, BF16) for number, word in enumerate(words))
