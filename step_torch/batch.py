"""Order in which rows go through the hardware of a layer: those of one text, or of several, each in a slot of its own.

In a step every slot has one row, of the text that is in it; or a single slot has a chunk of its prompt. The rows of a
step are one tile. A text that is done makes room for the next one that waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from step_torch.sampling import Sampling

NO_TOKEN = 2**32 - 1
"""What no model writes."""

SKEW = 2
"""Rounds whose first product comes before the second one of a round, and so on, if they need not wait for it."""


@dataclass(frozen=True)
class Request:
    """``count`` tokens to write behind ``prompt``; ``past``: tokens before that, which are in the caches."""

    prompt: list[int]
    count: int
    past: int = 0

    @property
    def steps(self) -> int:
        """Rows that it takes: the last token is read by nobody."""
        return len(self.prompt) + self.count - 1

    def sizes(self, chunk: int) -> list[int]:
        """Rows of each step: of the prompt up to ``chunk``, then one by one."""
        length = len(self.prompt)
        return [*(min(chunk, length - at) for at in range(0, length, chunk)), *[1] * (self.count - 1)]


@dataclass(frozen=True)
class Batch:
    """``requests`` through ``layers`` layers, in so many ``slots``; ``every``: the last row of each step is asked what
    comes behind. ``chunk``: the most rows of a prompt in a step. ``products``: those of a layer that share units."""

    requests: Sequence[Request]
    layers: int
    slots: int = 1
    every: bool = False
    chunk: int = 1
    products: int = 0

    @cached_property
    def _begins(self) -> list[tuple[int, int]]:
        """The first step, and the slot, of every request: the first that is free."""
        free, found = [0] * self.slots, list[tuple[int, int]]()
        for each in self.requests:
            slot = free.index(min(free))
            found.append((free[slot], slot))
            free[slot] += len(each.sizes(self.chunk))
        return found

    @cached_property
    def _cells(self) -> np.ndarray:
        """The request of every step and slot, -1 where there is none, how many rows it had before, and has there."""
        sizes = [each.sizes(self.chunk) for each in self.requests]
        steps = max(first + len(each) for each, (first, _) in zip(sizes, self._begins, strict=True))
        found = np.tile(np.reshape([-1, 0, 1], (3, 1, 1)), (steps, self.slots))
        for number, (each, (first, slot)) in enumerate(zip(sizes, self._begins, strict=True)):
            found[:, first : first + len(each), slot] = np.full(len(each), number), np.cumsum(each) - each, each
        return found

    def _of(self, values: Sequence[int], nobody: int) -> np.ndarray:
        """The value of the request of every cell, or ``nobody``."""
        return np.array([*values, nobody])[self._cells[0]]

    @cached_property
    def _writes(self) -> np.ndarray:
        """Whether a token is written behind the last row of a cell."""
        _, place, size = self._cells
        return place + size >= self._of([len(each.prompt) for each in self.requests], NO_TOKEN)

    @cached_property
    def _asked(self) -> np.ndarray:
        """The steps that are asked what comes behind."""
        return np.flatnonzero(self.every | self._writes.any(1))

    def places(self, number: int) -> np.ndarray:
        """The places of what request ``number`` writes in the output ``tokens``."""
        step, slot = np.nonzero(self._writes & (self._cells[0] == number))
        return np.searchsorted(self._asked, step) * self.slots + slot

    def written(self, tokens: Any, number: int, end: int | None = None) -> list[int]:
        """The tokens of request ``number`` in the output ``tokens``, up to the first ``end``."""
        found, places = np.asarray(tokens).reshape(-1), self.places(number)
        written: list[int] = found[places[places < len(found)]].tolist()
        return written[: written.index(end) + 1] if end in written else written

    def inputs(self, end: int | None = None, sampling: Sampling | None = None) -> dict[str, np.ndarray]:
        """Inputs that tell a program what to write: entries of every round, and of every row asked.

        The ``prompt`` has all tokens that are given. Of a round: its ``layer``; whether its row ``enters`` the layers
        (0; these are ``entering``) or comes back (1); whether it goes back (0), ``leaves`` (1) or is dropped; whether
        it is ``asked`` (1) what comes behind it, or not (0, ``quiet``); for every slot the ``position``, and whether
        the token of a row that enters is ``given`` (0) or was chosen (1). Of a row that is asked, for every slot: the
        token that is the ``stop`` of the text, whether what is chosen is ``unused``, and what ``sampling`` wants; of
        several slots which are ``going`` on behind it (1), and whether it is the first (0, ``begun``).

        Of chunks ``position`` and ``given`` are those of every row; which of these are not the ``first`` (1), or not
        the last, so that there are ``more`` behind, and of a round that is asked, which is the ``last``.

        ``turn``: products that take units which all share, from the first product of a round to that of the next one.
        """
        end = NO_TOKEN if end is None else end
        (request, place, size), writes, number = self._cells, self._writes, np.arange(len(self._cells[0]))[:, None]
        given = place < self._of([len(each.prompt) for each in self.requests], NO_TOKEN)
        at_once = int(np.cumprod(given.all(1)).sum())
        given &= (request >= 0) | (number < at_once)
        until = np.where(request < 0, -1, number).max(0)  # the last step of each slot
        texts = [*(each.prompt for each in self.requests), [0]]
        tokens = [texts[one][at : at + rows] for one, at, rows in self._cells[:, given].T]
        step, layer = np.array(rounds(at_once, len(place), self.layers)).T
        asked = (layer == self.layers - 1) & np.isin(step, self._asked)
        position = place + self._of([each.past for each in self.requests], 0)
        of_asked = {
            "stop": np.where(writes & (request == request[until, range(self.slots)]), end, NO_TOKEN),
            "unused": np.append(given[1:], np.ones((1, self.slots), bool), 0),
            **({} if sampling is None else sampling.inputs(position + size - 1)),
            **({"going": (number < until).astype(int)} if self.slots > 1 else {}),
        }
        several = (lambda each: each) if self.slots > 1 else (lambda each: each[:, 0])
        column = (lambda each: each[..., None]) if self.slots > 1 else (lambda each: each[:, 0])
        return {
            "prompt": np.concatenate(tokens),
            "position": several(position[step]),
            "layer": layer,
            "enters": (layer > 0).astype(int),
            "entering": layer[:, None] == 0,
            "leaves": np.stack([layer < self.layers - 1, asked], 1),
            "given": several((~given)[step].astype(int)),
            "asked": asked.astype(int),
            "quiet": ~asked[:, None],
            **{name: column(each[self._asked]) for name, each in of_asked.items()},
            **({"begun": (np.arange(len(self._asked)) > 0).astype(int)} if self.slots > 1 else {}),
            **(self._of_chunks(step, position, given) if self.chunk > 1 else {}),
            **({"turn": turns(waits(at_once, step, layer), self.products)} if self.products else {}),
        }

    def _of_chunks(self, step: np.ndarray, position: np.ndarray, given: np.ndarray) -> dict[str, list[Any]]:
        """Inputs for every row of the chunk that a round has."""
        size = self._cells[2, :, 0]
        rows = [np.arange(each) for each in size[step]]
        last = [np.arange(each)[:, None] == each - 1 for each in size[self._asked]]
        return {
            "position": [first + each for first, each in zip(position[step, 0], rows, strict=True)],
            "given": [np.full(len(each), int(not at_once)) for at_once, each in zip(given[step, 0], rows, strict=True)],
            "first": [np.minimum(each, 1) for each in rows],
            "more": [each[:, None] < len(each) - 1 for each in rows],
            "last": last,
        }


def rounds(given: int, steps: int, layers: int) -> list[tuple[int, int]]:
    """The step and the layer of every row that goes through the hardware of a layer, in order.

    Tokens of a prompt follow each other, so there are as many rows on their way as there are layers, each in another
    layer: none asks for keys that are not stored yet. The others begin when all before them is done.
    """
    waves = [(wave - layer, layer) for wave in range(given + layers - 1) for layer in reversed(range(layers))]
    behind = [(token, layer) for token in range(given, steps) for layer in range(layers)]
    return [(token, layer) for token, layer in waves if 0 <= token < given] + behind


def waits(given: int, step: np.ndarray, layer: np.ndarray) -> list[int]:
    """The round that each round waits for, -1 for none, where so many steps are ``given`` (`rounds`)."""
    number = {each: at for at, each in enumerate(zip(step.tolist(), layer.tolist(), strict=True))}
    return [number.get((one, of - 1), -1) if one < given else at - 1 for at, (one, of) in enumerate(number)]


def turns(before: Sequence[int], products: int) -> list[list[int]]:
    """Turns of so many products of a layer, which follow each other in a round, in an order in which those of several
    rounds alternate, if none waits for another one: so one is computed while others get their rows.

    ``before``: the round whose last product a round waits for, -1 for none. Turns are cut in front of the first
    product of every round.

    >>> turns([-1, -1, -1, 2], 2)
    [[0], [1, 0], [1, 0], [1, 0, 1]]
    """
    done, found, ahead = [0] * products, list[list[int]](), SKEW
    while done[-1] < len(before):
        seen, had = [*done], sum(done)
        for product in reversed(range(products)):
            number = seen[product]
            if number == len(before):
                continue
            if seen[product - 1] >= min(number + ahead, len(before)) if product else seen[-1] > before[number]:
                found += [[]] * (product == 0)
                found[-1] = [*found[-1], product]
                done[product] += 1
        ahead = SKEW if sum(done) > had else ahead - 1
    return found
