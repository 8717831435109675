"""What an operator gets besides its streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from meaning.nested import Nested
from step.language.operator import StreamType


@dataclass(frozen=True)
class Given:
    """The types around an operator, and its part in the inputs and the timing of the run.

    ``stream`` is what a source plays, ``tensors`` what lies in off-chip memory. ``arrivals`` says, where a timed run is
    followed, the input port of every token of data in the order in which they were taken: a token is an element, or a
    tensor without elements.
    """

    input_types: tuple[StreamType, ...]
    output_types: tuple[StreamType, ...]
    stream: Nested | None
    tensors: Mapping[str, np.ndarray]
    arrivals: Sequence[int] | None
