"""Choice of the next token by its score, at random: temperature, the most likely ones, and a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from step import FP32, UINT32
from step.errors import InputError
from step.language.arguments import Checked
from step.language.parameters import Within, settle_parameters

DRAWN = {"seed": UINT32, "number": UINT32, "sharpness": FP32, "top_k": UINT32, "top_p": FP32}
"""Inputs of `step.library.draw` beside the scores, and their formats."""

MOST = 64
"""Tokens with the largest scores, out of which one is drawn."""


@dataclass(frozen=True)
class Sampling(metaclass=Checked):
    """Choice of tokens at random, as `step.library.draw` does it in hardware.

    ``temperature``: scores are divided by it; 0 chooses the largest.
    ``top_k``: so many tokens of the largest scores are drawn from, at most and by default `MOST`.
    ``top_p``: of these, as few of the most likely ones as have this part of their probability together.
    ``seed``: the same one writes the same text, on every back end.

    Raises `InputError` for other values. All are inputs of the program, so others need no other hardware.

    >>> Sampling(temperature=0.8, top_k=8, top_p=0.9, seed=3)
    Sampling(temperature=0.8, top_k=8, top_p=0.9, seed=3)
    """

    temperature: Annotated[float, Within(0)] = 1.0
    top_k: Annotated[int, Within(1, MOST)] = MOST
    top_p: Annotated[float, Within(0, 1)] = 1.0
    seed: Annotated[int, Within(0, 2**32 - 1)] = 0

    refused = InputError

    def __post_init__(self) -> None:
        settle_parameters(self)

    def inputs(self, number: np.ndarray) -> dict[str, np.ndarray]:
        """Inputs of `step.library.draw`: of every row that is asked, of which the ``number`` is that of a token."""
        sharpness, top_k = 1 / max(self.temperature, 1e-30), self.top_k if self.temperature else 1
        each: tuple[Any, ...] = self.seed, number, sharpness, top_k, self.top_p
        return {name: np.broadcast_to(value, number.shape) for name, value in zip(DRAWN, each, strict=True)}
