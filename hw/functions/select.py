"""Datapaths of functions that make selectors, or keep what these would have."""

from __future__ import annotations

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.functions.order import ordered, scalar_of
from hw.functions.wires import WiresDatapath
from hw.primitives.timing import counter, delayed, held, window
from step.functions.select import KeepTopK, SelectAll, SelectIndices, SelectValid, TargetIndices, TopK
from step.language.types import Tile


class SelectValidDatapath(WiresDatapath, of=SelectValid):
    """Target 0 unless the flag is set."""

    def value(self, m: Module) -> Value:
        return ~self.operand0


class SelectAllDatapath(WiresDatapath, of=SelectAll):
    """All targets, whatever the operand is."""

    def value(self, m: Module) -> Value:
        return C((1 << self.plan.result_bits) - 1, self.plan.result_bits)


class SelectIndicesDatapath(WiresDatapath, of=SelectIndices):
    """The target whose index is the operand; in a reduction, with those of the indices before it."""

    def value(self, m: Module) -> Value:
        targets = self.plan.result_bits
        index = self.operand0[: max(1, (targets - 1).bit_length())]
        target = Cat(index == at for at in range(targets))
        if not self.plan.reduce:
            return target
        before = held(m, self.result, self.start, "before")
        return Mux(self.first, 0, before) | Mux(self.start, target, 0)


class TargetIndicesDatapath(WiresDatapath, of=TargetIndices):
    """The lowest target of what is left is the next index, one in a cycle; then it is left no more."""

    def value(self, m: Module) -> Value:
        (targets,), k = self.plan.operand_bits, self.plan.output.bits // 32
        bits = max(1, (targets - 1).bit_length())
        rest = Signal(targets, reset_less=True)
        left = Signal(targets)
        above = Signal(targets)
        lowest = Signal(targets)
        m.d.comb += [
            left.eq(Mux(self.start, self.operand0, rest)),
            above.eq(left & (left - 1)),  # all but the lowest
            lowest.eq(left & ~above),
        ]
        index = Cat(Cat(lowest[at] for at in range(targets) if at >> bit & 1).any() for bit in range(bits))
        found = Signal(bits * k, reset_less=True)
        m.d.sync += [rest.eq(above), found.eq(Cat(found, index)[bits:])]
        zeros = C(0, 32 - bits)
        return Cat(Cat(found.word_select(at, bits), zeros) for at in range(k))


class TopKDatapath(WiresDatapath, of=(TopK, KeepTopK)):
    """Scores that less than k others of their row beat: larger ones, or equal ones before it.

    In a cycle some of the scores of a row are compared with all of them, which count how often they are beaten. The
    result is a selector of those that win, or of `KeepTopK` these scores, and zeros.
    """

    def value(self, m: Module) -> Value:
        (tile,), function = self.plan.inputs, self.plan.function
        assert isinstance(tile, Tile) and isinstance(function, TopK | KeepTopK)
        (rows, count), bits, at_once = tile.shape, tile.dtype.bits, self.plan.at_once
        steps = -(-count // at_once)
        given = [self.operand0.word_select(at, bits) for at in range(rows * count)]
        scores = [Signal(bits, name=f"score_{at}", reset_less=True) for at in range(len(given))]
        with m.If(self.start):
            m.d.sync += [to.eq(ordered(m, f"order_{at}", given[at], tile.dtype)) for at, to in enumerate(scores)]
        active, _, _ = window(m, "cycle", self.start, rows * steps)
        step, last = counter(m, steps, "step", active)
        row, _ = counter(m, rows, "row", active & last)
        now = [Array(scores[at::count])[row] if rows > 1 else scores[at] for at in range(count)]
        others: list[tuple[Value, Value]] = []  # a score, and its number
        for lane in range(at_once):
            here = range(lane, count, at_once)
            score, number = Signal(bits, name=f"other_{lane}"), Signal(range(count + 1), name=f"number_{lane}")
            m.d.comb += [
                score.eq(Array([*(now[at] for at in here), *[C(0, bits)] * (steps - len(here))])[step]),
                number.eq(Array([*here, *[count] * (steps - len(here))])[step]),
            ]
            others.append((score, number))
        wins: list[Value] = []
        for at, mine in enumerate(now):
            beaten = Signal(range(count), name=f"beaten_{at}", reset_less=True)
            before = [number < at if at else C(0, 1) for _, number in others]
            larger = [Mux(each, score >= mine, score > mine) for each, (score, _) in zip(before, others, strict=True)]
            by = sum(larger, C(0, 1))
            with m.If(active):
                m.d.sync += beaten.eq(Mux(step == 0, 0, beaten) + by)
            wins.append(beaten < function.k)
        won = Cat(wins)
        return self._kept(m, tile, scores, won, active & last, row) if isinstance(function, KeepTopK) else won

    def _kept(self, m: Module, tile: Tile, scores: list[Signal], wins: Value, last: Value, row: Value) -> Value:
        """The scores that win, and zeros, where those of ``row`` win behind the ``last`` step of it."""
        rows, count = tile.shape
        done, row = delayed(m, last, 1, "row_done"), delayed(m, row, 1, "row_of")
        kept = Signal((rows - 1) * count, reset_less=True)
        for at in range(rows - 1):
            with m.If(done & (row == at)):
                m.d.sync += kept.word_select(at, count).eq(wins)
        chosen = Cat(kept, wins)
        scalars = (scalar_of(each, tile.dtype) for each in scores)
        return Cat(Mux(chosen[at], each, 0) for at, each in enumerate(scalars))
