"""Lanes of integers: of all factors and sums the exact sum, also where one multiplier has the products of two."""

from __future__ import annotations

from types import ModuleType

import pytest
from amaranth.hdl import Assert, Const, Module, Mux
from mutants import mutant
from proving import Bench, circuits
from reachability import Circuit

from hw.arithmetic import multiply_accumulate
from hw.primitives.timing import registered

pytestmark = pytest.mark.large

WIDTH = 32
PAIRED = [
    ("APART = 12", "APART = 11"),
    ("high - low[-1]).as_signed()", "high).as_signed()"),
    ("low[-1].replicate(self.APART - 4)", "C(0, self.APART - 4)"),
    ("Cat(C(1, 1), self.sum", "Cat(C(0, 1), self.sum"),
    ("product[self.APART - 1 :]", "product[self.APART :]"),
    ("product[: self.APART].as_signed()", "product[: self.APART]"),
    ("self.second[4:].as_signed()", "self.second[4:]"),
    ("carried[1 : width + 1]", "carried[:width]"),
]
ALONE = [
    ("self.sum + product)", "self.sum - product)"),
    ("self.first.as_signed() * second", "self.first * second"),
    ("second = self.second.as_signed()", "second = self.second"),
]


class LaneBench(Bench):
    """A lane, whose sums come a cycle behind its factors; products are sums of what is shifted."""

    def __init__(self, module: ModuleType, bits: int, *, pairs: bool) -> None:
        super().__init__()
        self.lane, self.bits, self.count = module.IntegerMultiplyAccumulate(bits, pairs=pairs), bits, 1 + pairs
        for name, size in (("first", 8), ("second", bits * self.count), ("sum", WIDTH * self.count)):
            self.input(name, size)

    def build(self, m: Module) -> None:
        m.submodules.lane = lane = self.lane
        m.d.comb += [getattr(lane, name).eq(each) for name, each in self.given.items()]
        before = {name: registered(m, self.given[name], f"{name}_before") for name in ("first", "second")}
        for place in range(self.count):
            second = before["second"].word_select(place, self.bits).as_signed()
            shifted = [Mux(bit, second << at, 0) for at, bit in enumerate(before["first"])]
            product = sum(shifted[:-1], Const(0)) - shifted[-1]
            wanted = (self.given["sum"].word_select(place, WIDTH) + product)[:WIDTH]
            m.d.comb += Assert(lane.result.word_select(place, WIDTH) == wanted)


def is_wrong(text: str) -> bool:
    """Whether any factors in any state, and any sums in the next cycle, break an assertion in that."""
    circuit = Circuit.read(text)
    apart = circuit.one

    def later(literal: int) -> int:
        return literal + apart if literal > 0 else literal - apart

    with circuit.solver() as solver:
        solver.add_clause([later(circuit.one)])
        for gate, left, right in circuit.gates:
            gate, left, right = map(later, (gate, left, right))
            solver.append_formula([[-gate, left], [-gate, right], [gate, -left, -right]])
        for latch, after in circuit.latches.items():
            solver.append_formula([[-later(latch), after], [later(latch), -after]])
        solver.add_clause([later(each) for each in circuit.bad])
        return bool(solver.solve())


@pytest.mark.parametrize(("bits", "pairs", "mutants"), [(8, False, ALONE), (4, False, ALONE), (4, True, PAIRED)])
def test_lanes(bits: int, pairs: bool, mutants: list[tuple[str, str]]) -> None:
    benches = {"as it is": LaneBench(multiply_accumulate, bits, pairs=pairs)}
    for old, new in mutants:
        benches[f"{old} -> {new}"] = LaneBench(mutant(multiply_accumulate, old, new), bits, pairs=pairs)
    wrong = {name: is_wrong(text) for name, text in circuits(benches).items()}
    assert not wrong.pop("as it is")
    assert all(wrong.values()), [name for name, each in wrong.items() if not each]
