"""A matrix product cycle by cycle: words come, blocks are worked on, words leave; what a plan promises is looked at.

Memories hold the names of what lies in them, so a scalar that is read too early, or was overwritten, is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.words import Words

Place = tuple[object, ...]
"""A place of a memory, whose name comes first."""


def words_of(tile: Words, row: int, col: int) -> range:
    """The words in which a scalar lies."""
    first, last = tile.words_of(row * tile.cols + col, row * tile.cols + col)
    return range(first, last + 1)


def blocks_of(plan: MatmulPlan, rows: int) -> Iterator[tuple[int, int, int, int]]:
    """The cycles of a product on the lanes: row and column of the block, step of k, and the cycle."""
    shape, cycle, first = plan.arrangement, 0, 0
    for height in shape.heights(rows):
        for k in range(shape.inner):
            here = [(row, col) for row in range(first, first + height) for col in range(shape.col_blocks)]
            for at, (row, col) in enumerate(here):
                yield row, col, k, cycle + at
            cycle += max(len(here) * shape.products, shape.stages)
        first += height
    assert first == -(-rows // shape.block_rows) and cycle == shape.computes(rows)


def terms_of(plan: MatmulPlan, step: int) -> range:
    """The k of a step."""
    return range(step * plan.terms, min((step + 1) * plan.terms, plan.operands[0].cols))


def wrong(plan: MatmulPlan, starts: Sequence[int], rows: Sequence[int]) -> str | None:
    """What goes wrong where products of so many ``rows`` start in these cycles, if anything does.

    Slots are counted from cycle 0 on.
    """
    shape, (left, right) = plan.arrangement, plan.operands
    writes: dict[int, list[tuple[Place, int]]] = {}
    reads: dict[int, list[tuple[Place, int, str]]] = {}
    lanes: dict[int, int] = {}
    sums: dict[tuple[int, int, int], int] = {}
    for number, (start, count) in enumerate(zip(starts, rows, strict=True)):
        copies, begin = [number % each for each in plan.copies], start + plan.begin
        if shape.products > 1:
            begin += (number % shape.products * shape.blocks - begin) % (shape.products * shape.blocks)
        result = Words(count, shape.cols, plan.result.dtype, plan.result.link_bits)
        for port, tile in enumerate((Words(count, left.cols, left.dtype, left.link_bits), right)):
            held = plan.assembled[port]
            for word in range(tile.words):
                at = start + (plan.begin - 1 if held else word)
                assert not held or word <= plan.begin - 1
                writes.setdefault(at, []).append(((port, copies[port] * (not held), word), number))
        for row, col, step, cycle in blocks_of(plan, count):
            at = begin + cycle
            if at in lanes:
                return f"product {number} and product {lanes[at]} want the lanes in cycle {at}"
            lanes[at] = number
            if sums.get((number, row, col), -shape.stages) > at - shape.stages:
                return f"a sum is wanted in cycle {at} that is not there"
            sums[number, row, col] = at
            for i in range(row * shape.block_rows, min((row + 1) * shape.block_rows, count)):
                for k, word in ((at_k, each) for at_k in terms_of(plan, step) for each in words_of(left, i, at_k)):
                    place = 0, copies[0] * (not plan.assembled[0]), word
                    reads.setdefault(at, []).append((place, number, f"left {i}, {k} of {number} in cycle {at}"))
            for j in range(col * shape.block_cols, min((col + 1) * shape.block_cols, shape.cols)):
                places = ((j, k) if plan.transposed else (k, j) for k in terms_of(plan, step))
                for scalar, word in ((each, word) for each in places for word in words_of(right, *each)):
                    place = 1, copies[1] * (not plan.assembled[1]), word
                    reads.setdefault(at, []).append((place, number, f"right {scalar} of {number} in cycle {at}"))
            if step < shape.inner - 1:
                continue
            for i in range(row * shape.block_rows, min((row + 1) * shape.block_rows, count)):
                for j in range(col * shape.block_cols, min((col + 1) * shape.block_cols, shape.cols)):
                    place = "sum", number % plan.results, i, j
                    writes.setdefault(at + plan.depth, []).append((place, number))
        for i in range(count):
            for j in range(shape.cols):
                for word in words_of(result, i, j):
                    at = start + plan.latency_of(count) + word - plan.deep_results
                    place = "sum", number % plan.results, i, j
                    reads.setdefault(at, []).append((place, number, f"sum {i}, {j} of {number} in cycle {at}"))
                    if plan.shifts and ("sum", at) in lanes:
                        return "a word leaves shift registers while a sum comes"
    there: dict[Place, int] = {}
    deep = {0: plan.deep_operands[0], 1: plan.deep_operands[1], "sum": plan.deep_results}
    for cycle in sorted({*writes, *reads}):
        for place, number, what in reads.get(cycle, []):
            if there.get(place) != number:
                return f"{what} is that of {there.get(place)}"
            if deep[place[0]] and place in dict(writes.get(cycle, [])):
                return f"{what} is read while it is written"
        there |= dict(writes.get(cycle, []))
    return None
