"""GPT-2 on several U55Cs, each with a group of its layers: tokens a second, and the time to the first one.

Each card is a program of its own (`Card`), exact in the fast model, whose rows come at the times at which the card
before sends them. Where these depend on what is written, all cards run until no time changes any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from experiments.rows import digest
from experiments.streamtensor import card as one
from experiments.streamtensor import models, points
from experiments.streamtensor.card import Card
from experiments.streamtensor.models import MODELS
from experiments.work import Experiment
from step import Program, Simulator
from step_models.fabrics import fitting
from step_torch.batch import Batch, Request

LINK_BYTES, LINK_NS = 12.5e9, 1000
"""Bytes a second of a link between two cards (a QSFP28 cage of a U55C has 100 Gbit/s), and its assumed latency."""
TOKENS, PROMPT = 3, 32
"""Tokens that every request writes behind `SHOWN`, of which the last one counts; and those of a prompt."""
LAG = 8
"""Cycles from the last tick of the clock of a card's rows until a row is there."""


@dataclass(frozen=True)
class Point:
    """So many ``cards`` with as many layers each, and ``requests`` that take turns."""

    cards: int
    requests: int

    @property
    def name(self) -> str:
        """Both."""
        return f"{self.cards} cards {self.requests} requests"


def cards() -> Iterator[Point]:
    """One request, and as many as cards."""
    for count in (1, 2, 4):
        yield from (Point(count, each) for each in sorted({1, count}))


def measured(point: Point) -> dict[str, object]:
    """Cycles between the last two tokens of a request, and until the first one behind a prompt."""
    leaves = decoded(point)[-1]
    first = prompted(point.cards)
    between = leaves[-1] - leaves[-1 - point.requests]
    return {**asdict(point), "cycles": int(between), "prompt": PROMPT, "first": int(first)}


def decoded(point: Point) -> np.ndarray:
    """The cycles [cards, rows] in which rows leave cards, tokens of all requests in turn."""
    rows = np.arange(TOKENS * point.requests)
    batch, past = Batch([Request([0], len(rows))], 1), points.SHOWN + rows // point.requests
    took = np.zeros((point.cards, len(rows)), int)
    while True:
        comes, expected = _times(took, point.requests)
        found = np.stack([_leaves(point.cards, at, batch, comes[at], past) for at in range(point.cards)])
        if (found == expected).all():
            return found
        begins = np.maximum(comes, np.pad(found, ((0, 0), (1, 0)))[:, :-1])
        took = found - begins


def prompted(count: int) -> int:
    """The cycle in which the first token behind a prompt leaves the last of so many cards."""
    leaves = np.zeros(PROMPT, int)
    for number in range(count):
        comes = leaves if number == 0 else _over_link(leaves, 2 * MODELS["gpt2"].hidden)
        leaves = _leaves(count, number, Batch([Request([0] * PROMPT, 1)], 1), comes)
    return int(leaves[-1])


def _times(took: np.ndarray, requests: int) -> tuple[np.ndarray, np.ndarray]:
    """When rows come to cards and leave them that take so long for each, one after the other."""
    comes, leaves = np.zeros_like(took), np.zeros_like(took)
    for row in range(took.shape[1]):
        for card in range(len(took)):
            if card:
                comes[card, row] = _over_link(leaves[card - 1, : row + 1], 2 * MODELS["gpt2"].hidden)[-1]
            elif row >= requests:
                comes[card, row] = _over_link(leaves[-1, : row + 1 - requests], 4)[-1]
            begins = max(comes[card, row], leaves[card, row - 1] if row else 0)
            leaves[card, row] = begins + took[card, row]
    return comes, leaves


def _over_link(leaves: np.ndarray, size: int) -> np.ndarray:
    """When rows of ``size`` bytes are at the other end of a link, which they take one after the other."""
    took = ceil(size / LINK_BYTES * points.MEGAHERTZ * 1e6)
    free, found = 0, list[int]()
    for each in leaves:
        free = max(free, each) + took
        found.append(free + ceil(LINK_NS * points.MEGAHERTZ / 1000))
    return np.array(found)


def _leaves(count: int, number: int, batch: Batch, comes: np.ndarray, past: np.ndarray | None = None) -> np.ndarray:
    """The cycles in which rows that come then leave card ``number`` of ``count``; ``past``: tokens before each."""
    card, program, simulator = _made(count, 0 if number == 0 else count - 1 if number == count - 1 else 1)
    gaps = np.maximum(np.diff(np.maximum(comes - LAG, 0), prepend=0), 1)
    row: Any = np.uint32(0) if card.begins else np.zeros((1, MODELS["gpt2"].hidden), np.float32)
    inputs = card.inputs(batch, np.broadcast_to(row, (len(gaps), *row.shape)), gaps)
    if past is not None:
        inputs["position"] = np.repeat(past, card.last - card.first)
    run = simulator.run({**program.inputs, **inputs}, events=True)
    assert run.result.events is not None
    out = next(each for each in simulator.netlist.channels if each.consumer[0] == card.output)
    events = run.result.events[out.name]
    return events.cycles[events.valued]


@cache
def _made(count: int, number: int) -> tuple[Card, Program, Simulator]:
    """Card ``number`` of so many, on the larger hardware."""
    model, (tiling, fabric) = MODELS["gpt2"].loaded(), points.mapped("fast", points.MEGAHERTZ)
    size = model.parts.count // count
    card = Card(model, number * size, (number + 1) * size)
    made = card.program(tiling, fabric, values=False)
    fabric = replace(fabric, lanes=points.lanes_of(made.graph), links=points.links_of(made.graph))
    program = replace(made, fabric=fitting(made.graph, fabric))
    batch = Batch([Request([0], 2)], 1)
    row = np.zeros((2,) if card.begins else (2, 1, MODELS["gpt2"].hidden))
    return card, program, Simulator(program, inputs={**program.inputs, **card.inputs(batch, row, [1, 1])})


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest("torch", __file__, one.__file__, points.__file__, models.__file__)


COLUMNS = ("point", "cards", "requests", "cycles", "prompt", "first", "cpu_seconds", "sources", "version")
CAMPAIGN = Experiment("streamtensor", COLUMNS, {"cards": cards}, measured, sources)
