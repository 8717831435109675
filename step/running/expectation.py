"""Deviation of the outputs of a run from what the program expects in float64."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from step.errors import InputError, expect
from step.language.tiling import stored
from step.language.tokens import Token
from step.programs.data.inputs import cut_tiles
from step.programs.program import Program


@dataclass(frozen=True)
class Deviation:
    """``relative``: the largest difference to an expected output, relative to the largest magnitude of that output.

    ``first`` is a line about the first scalar, in the order of the program's expectations, that is further away than
    ``tolerance`` allows; None where all are close enough.
    """

    relative: float
    tolerance: float
    first: str | None

    @property
    def close(self) -> bool:
        """Whether every scalar is within the tolerance; none is where the difference is NaN."""
        return self.relative <= self.tolerance


def deviation(program: Program, outputs: Mapping[str, list[Token]]) -> Deviation | None:
    """Deviation of ``outputs`` from the expectations of ``program``; None where it has none.

    Raises `InputError` for expectations of outputs that there are not, or of another size.
    """
    found = [_of_output(program, name, outputs) for name in program.expected]
    if not found:
        return None
    lines = [line for _, line in found if line is not None]
    # NaN stays NaN.
    return Deviation(float(np.max([each for each, _ in found])), program.tolerance, lines[0] if lines else None)


def _of_output(program: Program, name: str, outputs: Mapping[str, list[Token]]) -> tuple[float, str | None]:
    expect(name in outputs, f"there is no output {name!r} to compare with the expected one", InputError)
    expected = np.asarray(program.expected[name], np.float64)
    values = [np.asarray(token.value, np.float64).ravel() for token in outputs[name] if token.has_value]
    got = np.concatenate([np.zeros(0), *values])
    if got.size != expected.size:
        raise InputError(f"output {name!r} has {got.size} scalars, but {expected.size} are expected")
    tilings = stored(program.graph)
    places = np.arange(expected.size)  # of the scalars of ``got`` in ``expected``
    if name in tilings:
        tiling = tilings[name]
        expected = expected.reshape(tiling.tensor.shape)
        places = cut_tiles(places.reshape(tiling.tensor.shape), tiling.tile).ravel()
    back = np.empty_like(got)
    back[places] = got
    flat = expected.ravel()
    same = (back == flat) | (np.isnan(back) & np.isnan(flat))  # infinities and NaN, too
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(back - flat))
    scale = np.abs(flat[np.isfinite(flat)]).max(initial=0.0)
    # Where zeros are expected every difference counts.
    relative = difference / scale if scale else np.where(difference == 0, 0.0, np.inf)
    far = ~(relative <= program.tolerance)
    return float(relative.max(initial=0.0)), _line(name, back, expected, int(np.argmax(far))) if far.any() else None


def _line(name: str, got: np.ndarray, expected: np.ndarray, place: int) -> str:
    index = ", ".join(str(int(each)) for each in np.unravel_index(place, expected.shape))
    return f"output {name!r} is {got[place]:.6g} at [{index}], but {expected.flat[place]:.6g} is expected"
