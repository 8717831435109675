"""Simulated annealing of blocks on a grid: how short can the wires between them be?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

MOVES = 120
"""Moves that are tried: so many times blocks ** 4/3 (as VPR, Betz and Rose 1997)."""

COLDEST = 0.002
"""The last temperature, as a part of the first one."""

Pull = tuple[int, int, float]
"""Two blocks, and the cost of a step between them."""


def anneal(blocks: int, pulls: Sequence[Pull], columns: int, rows: int, seed: int) -> list[tuple[int, int]]:
    """The column and the row of each of so many ``blocks``, no two in one place; the same for the same arguments.

    What is made small is the sum of all ``pulls``, each times the steps along columns and rows between its blocks.
    """
    random = Random(seed)
    draw = random.random
    places = [(column, row) for row in range(rows) for column in range(columns)]
    random.shuffle(places)
    column, row = ([place[axis] for place in places[:blocks]] for axis in (0, 1))
    at: list[list[int | None]] = [[None] * rows for _ in range(columns)]
    for block in range(blocks):
        at[column[block]][row[block]] = block
    beside: list[list[tuple[int, float]]] = [[] for _ in range(blocks)]
    for one, two, weight in pulls:
        if one != two:
            beside[one].append((two, weight))
            beside[two].append((one, weight))

    def cost(block: int) -> float:
        x, y = column[block], row[block]
        return sum(weight * (abs(column[other] - x) + abs(row[other] - y)) for other, weight in beside[block])

    moves = round(MOVES * blocks ** (4 / 3))
    hottest = (columns + rows) / 4 * sum(weight for *_, weight in pulls) / max(1, len(pulls))
    reach = max(columns, rows)
    for move in range(moves):
        cooled = COLDEST ** (move / moves)
        heat, window = hottest * cooled, max(1, round(reach * math.sqrt(cooled)))
        block = int(draw() * blocks)
        x, y = column[block], row[block]
        to_x = min(columns - 1, max(0, x + int(draw() * (2 * window + 1)) - window))
        to_y = min(rows - 1, max(0, y + int(draw() * (2 * window + 1)) - window))
        other = at[to_x][to_y]
        if other == block:
            continue
        before = cost(block) + (0 if other is None else cost(other))
        column[block], row[block] = to_x, to_y
        if other is not None:
            column[other], row[other] = x, y
        change = cost(block) + (0 if other is None else cost(other)) - before
        if change <= 0 or draw() < math.exp(-change / heat):
            at[to_x][to_y], at[x][y] = block, other
            continue
        column[block], row[block] = x, y
        if other is not None:
            column[other], row[other] = to_x, to_y
    return list(zip(column, row, strict=True))
