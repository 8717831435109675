"""Runs a program on every back end and compares: meaning, cycles, and the time of every token."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cosim.backend import run_rtl
from sim_approx import backend as approx
from step.errors import InputError
from step.host.progress import Progress, silent
from step.language.tiling import stored
from step.language.tokens import Token
from step.programs.program import Program
from step.programs.tensors import cut_tiles
from step.running.interpreter import interpret
from step.running.result import ChannelEvents, OperatorResult


@dataclass(frozen=True)
class OperatorComparison:
    """Activity of one operator in both timed back ends."""

    name: str
    exact: OperatorResult
    approximate: OperatorResult


@dataclass(frozen=True)
class Comparison:
    """What `compare` found for one program.

    ``mismatches`` counts the tokens whose cycle or control differs between RTL and fast model, of ``tokens`` in all
    channels; ``first_mismatch`` names the earliest one. ``outputs_equal``: the RTL's outputs equal the interpreter's
    bit for bit (which replays the RTL's order of arrival where an operator depends on it). ``deviation`` is the
    largest difference to the program's float64 expectation, relative to its largest magnitude; None where it has none.
    """

    program: str
    exact_cycles: int
    approximate_cycles: int
    tokens: int
    mismatches: int
    first_mismatch: str | None
    outputs_equal: bool
    first_difference: str | None
    deviation: float | None
    tolerance: float | None
    build_seconds: float
    rtl_seconds: float
    rtl_cycles_per_second: float
    approx_seconds: float
    approx_tokens_per_second: float
    operators: tuple[OperatorComparison, ...]

    @property
    def error(self) -> float:
        """Relative error of the approximate cycles."""
        return (self.approximate_cycles - self.exact_cycles) / self.exact_cycles if self.exact_cycles else 0.0

    @property
    def speedup(self) -> float:
        """How many times faster the fast model was than the simulation of the RTL."""
        return self.rtl_seconds / self.approx_seconds if self.approx_seconds else 0.0

    @property
    def passed(self) -> bool:
        """Outputs equal, every token on time, and the float64 expectation within its tolerance."""
        close = self.deviation is None or self.tolerance is None or self.deviation <= self.tolerance
        return self.outputs_equal and self.mismatches == 0 and self.exact_cycles == self.approximate_cycles and close

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = asdict(self)
        if self.deviation is not None and math.isnan(self.deviation):
            plain["deviation"] = None  # JSON knows no NaN
        return {**plain, "error": self.error, "speedup": self.speedup, "passed": self.passed}


def compare(program: Program, progress: Progress = silent) -> Comparison:
    """Interpret ``program``, simulate its RTL, run the fast model, and compare.

    Raises the errors of the back ends, and before any of them runs `InputError` for what can not be expected.
    """
    if program.check_expected():
        _deviation(program, interpret(program.graph, program.inputs).outputs)  # sizes that only a run tells
    progress(f"{program.name}: building and simulating the RTL")
    exact = run_rtl(program.graph, program.inputs, program.fabric, progress=progress)
    progress(f"{program.name}: running the fast model")
    approximate = approx.run(program.graph, program.inputs, program.fabric, events=True)
    progress(f"{program.name}: interpreting")
    meaning = interpret(program.graph, program.inputs, arrivals=exact.result.arrivals)
    mismatches, first_mismatch = _compare_events(exact.result.events or {}, approximate.events or {})
    difference = _compare_outputs(exact.result.outputs or {}, meaning.outputs)
    deviation = _deviation(program, meaning.outputs)
    return Comparison(
        program=program.name,
        exact_cycles=exact.result.cycles,
        approximate_cycles=approximate.cycles,
        tokens=exact.result.tokens,
        mismatches=mismatches,
        first_mismatch=first_mismatch,
        outputs_equal=difference is None,
        first_difference=difference,
        deviation=deviation,
        tolerance=program.tolerance if program.expected else None,
        build_seconds=exact.build_seconds,
        rtl_seconds=exact.result.wall_seconds,
        rtl_cycles_per_second=exact.cycles_per_second,
        approx_seconds=approximate.wall_seconds,
        approx_tokens_per_second=approximate.tokens_per_second,
        operators=tuple(
            OperatorComparison(name, each, approximate.operators[name]) for name, each in exact.result.operators.items()
        ),
    )


def _compare_events(
    exact: Mapping[str, ChannelEvents], approximate: Mapping[str, ChannelEvents]
) -> tuple[int, str | None]:
    """Number of tokens that differ, and a line about the earliest."""
    mismatches = 0
    earliest: tuple[int, str] | None = None
    for name, left in exact.items():
        right = approximate[name]
        common = min(len(left.cycles), len(right.cycles))
        differ = (left.cycles[:common] != right.cycles[:common]) | (left.control[:common] != right.control[:common])
        mismatches += int(differ.sum()) + abs(len(left.cycles) - len(right.cycles))
        if differ.any():
            token = int(np.argmax(differ))
            cycle = int(left.cycles[token])
            if earliest is None or cycle < earliest[0]:
                earliest = (
                    cycle,
                    f"{name}: token {token} at {cycle} in the RTL, {int(right.cycles[token])} in the model",
                )
        elif len(left.cycles) != len(right.cycles) and earliest is None:
            earliest = 1 << 62, f"{name}: {len(left.cycles)} tokens in the RTL, {len(right.cycles)} in the model"
    return mismatches, earliest[1] if earliest else None


def _compare_outputs(exact: Mapping[str, list[Token]], meaning: Mapping[str, list[Token]]) -> str | None:
    """A line about the first output that is not equal bit for bit, or None."""
    for name, wanted in meaning.items():
        got = exact[name]
        if len(got) != len(wanted):
            return f"{name}: {len(got)} tokens from the RTL, {len(wanted)} from the interpreter"
        for position, (left, right) in enumerate(zip(got, wanted, strict=True)):
            if (left.stop, left.rank) != (right.stop, right.rank) or not equal_values(left.value, right.value):
                return f"{name}: token {position} is not equal"
    return None


def equal_values(left: Any, right: Any) -> bool:
    """Whether two elements are equal bit for bit (NaN equals NaN, +0 does not equal -0)."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(equal_values, left, right))
    return bool(left == right)


def _deviation(program: Program, outputs: Mapping[str, list[Token]]) -> float | None:
    """Largest relative deviation from the program's float64 expectations."""
    found, tilings = [], stored(program.graph)
    for name, expected in program.expected.items():
        if name not in outputs:
            raise InputError(f"there is no output {name!r} to compare with the expected one")
        values = [np.asarray(token.value, np.float64).ravel() for token in outputs[name] if token.has_value]
        got = np.concatenate([np.zeros(0), *values])
        expected = np.asarray(expected, np.float64)
        if got.size != expected.size:
            raise InputError(f"output {name!r} has {got.size} scalars, but {expected.size} are expected")
        if name in tilings:
            tiling = tilings[name]
            expected = cut_tiles(np.reshape(expected, tiling.tensor.shape), tiling.tile)
        difference = np.abs(got - expected.ravel()).max(initial=0.0)
        scale = np.abs(expected).max(initial=0.0)
        # NaN stays NaN, and where zeros are expected every difference counts.
        found.append(difference / scale if scale else np.inf if difference else 0.0)
    return float(np.max(found)) if found else None
