"""Runs a program on every back end and compares: meaning, cycles, and the time of every token."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cosim.backend import run_rtl
from cosim.comparing.buffers import BufferComparison, compare_buffers
from cosim.comparing.traffic import TrafficComparison, compare_traffic
from cosim.running.bench_run import wave_kind
from sim_approx import backend as approx
from sim_approx.compiled.library import begin
from step.errors import InputError
from step.host.progress import Progress
from step.host.watching import watched
from step.language.parameters import settled
from step.language.symbols import measure
from step.language.tokens import Token
from step.lowering.fabric import FabricConfig
from step.programs.data.equality import same
from step.programs.prepare import Inputs, Openable, Prepared, open_program, prepare
from step.programs.program import Program
from step.programs.tables import table
from step.running.expectation import deviation
from step.running.interpreter import meaning
from step.running.options import options_for
from step.running.result import ChannelEvents, OperatorResult


@dataclass(frozen=True)
class OperatorComparison:
    """Activity of one operator in both timed back ends.

    ``mismatches`` counts the tokens that it sent whose cycle or control differs.
    """

    name: str
    exact: OperatorResult
    approximate: OperatorResult
    mismatches: int

    @property
    def error(self) -> float:
        """Relative error of the cycles in which it is busy."""
        return _error(self.exact.busy, self.approximate.busy)


@dataclass(frozen=True, repr=False)
class Comparison:
    """The outcome of `compare` for one program.

    ``mismatches`` counts the tokens whose cycle or control differs between RTL and fast model, of ``tokens`` in all
    channels; ``first_mismatch`` names the earliest one. ``outputs_equal``: the RTL's outputs equal the interpreter's
    bit for bit (which replays the RTL's order of arrival where an operator depends on it). ``buffers`` are peaks of
    on-chip memory, of which ``first_peak`` names the first that is wrong, and ``first_traffic`` is that of the off-chip
    ``traffic``. ``deviation`` is the largest difference to the program's float64 expectation, relative to its largest
    magnitude; None where it has none. ``first_unexpected`` names the first scalar that is further away than the
    tolerance allows.
    """

    program: str
    exact_cycles: int
    approximate_cycles: int
    tokens: int
    mismatches: int
    first_mismatch: str | None
    outputs_equal: bool
    first_difference: str | None
    buffers: tuple[BufferComparison, ...]
    first_peak: str | None
    traffic: tuple[TrafficComparison, ...]
    first_traffic: str | None
    deviation: float | None
    tolerance: float | None
    first_unexpected: str | None
    build_seconds: float
    rtl_seconds: float
    rtl_cycles_per_second: float
    approx_seconds: float
    approx_tokens_per_second: float
    operators: tuple[OperatorComparison, ...]

    @property
    def error(self) -> float:
        """Relative error of the approximate cycles."""
        return _error(self.exact_cycles, self.approximate_cycles)

    @property
    def speedup(self) -> float:
        """The fast model's speed over that of the simulation of the RTL."""
        return self.rtl_seconds / self.approx_seconds if self.approx_seconds else 0.0

    @property
    def agreed(self) -> bool:
        """Outputs equal, every token on time, and memory used as it must be, on chip and off chip."""
        on_time = self.mismatches == 0 and self.exact_cycles == self.approximate_cycles
        return self.outputs_equal and on_time and self.first_peak is None and self.first_traffic is None

    @property
    def passed(self) -> bool:
        """Agreed, and the float64 expectation within its tolerance."""
        return self.agreed and self.first_unexpected is None

    @property
    def complaints(self) -> list[str]:
        """A line for each kind of thing that is wrong: where first."""
        lines = (self.first_mismatch, self.first_difference, self.first_peak, self.first_traffic, self.first_unexpected)
        return [line for line in lines if line]

    def __repr__(self) -> str:
        verdict = "equal" if self.passed else "NOT equal"
        return f"<comparison of {self.program}: {self.exact_cycles:,} cycles, {self.tokens:,} tokens, {verdict}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [
            ("cycles in RTL", self.exact_cycles),
            ("cycles in the fast model", self.approximate_cycles),
            ("tokens", self.tokens),
            ("tokens off time", self.mismatches),
            ("bytes moved off chip", sum(each.exact.bytes for each in self.traffic)),
            ("outputs", "equal" if self.outputs_equal else "DIFFER"),
            ("largest deviation from float64", "-" if self.deviation is None else f"{self.deviation:.2%}"),
            ("RTL cycles/s", round(self.rtl_cycles_per_second)),
            ("fast model: times as fast", round(self.speedup, 1)),
            *(("first difference", line) for line in self.complaints),
        ]
        return table(("", self.program), rows)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = asdict(self)
        if self.deviation is not None and not math.isfinite(self.deviation):
            plain["deviation"] = None  # JSON knows no NaN, and no infinity
        operators = [{**asdict(each), "error": each.error} for each in self.operators]
        return {**plain, "operators": operators, "error": self.error, "speedup": self.speedup, "passed": self.passed}


def _error(exact: int, approximate: int) -> float:
    return (approximate - exact) / exact if exact else 0.0


def compare(
    program: Openable,
    *,
    inputs: Inputs | None = None,
    fabric: FabricConfig | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Comparison of ``program`` on RTL, fast model and interpreter: the cycle of every token, and all outputs.

    ``program``: a `Program`, a `Graph` or the name of a file.
    ``inputs``: data by name, or an .npz file, in the place of the program's own.
    ``fabric``: a `FabricConfig` in the place of the program's own.
    ``progress``: told what is going on, as that of `run`.
    ``max_cycles``: cycles after which a run fails.
    ``waves``: a .vcd or .fst file for those of the RTL.
    ``optimize``: False builds the simulator faster and runs it slower: for short runs.

    Raises the errors of the back ends, and before any of them runs `InputError` for what can not be expected; warns as
    `run` does.

    >>> found = step.compare(program, optimize=False)  # doctest: +SKIP
    >>> found.exact_cycles, found.approximate_cycles, found.passed  # doctest: +SKIP
    (32, 32, True)
    """
    given = options_for(compared, options, "step.compare")
    if progress is not None:
        settled(progress, Callable, "progress", InputError)
    opened = open_program(program, inputs=inputs, fabric=fabric)
    prepared = prepare(opened)
    prepared.warn()
    with watched(progress) as telling:
        return compared(opened, prepared, telling, **given)


def compared(
    program: Program,
    prepared: Prepared,
    progress: Progress,
    *,
    max_cycles: int | None = None,
    waves: Path | None = None,
    optimize: bool = True,
) -> Comparison:
    """`compare` of a ``program`` that somebody has ``prepared``, without its warnings."""
    wave_kind(waves)  # told before the work
    if program.check_expected():
        deviation(program, meaning(prepared).outputs)  # sizes that only a run tells
    netlist = prepared.netlist
    begin()  # it is there when the RTL has run
    progress(f"{program.name}: building and simulating the RTL")
    exact, raw = run_rtl(prepared, max_cycles=max_cycles, waves=waves, optimize=optimize, progress=progress)
    progress(f"{program.name}: running the fast model")
    approximate = approx.run(prepared, events=True, max_cycles=max_cycles)
    progress(f"{program.name}: interpreting")
    meant = meaning(prepared, exact.arrivals)
    off_time, first_mismatch = _compare_events(exact.events or {}, approximate.events or {})
    sent_off_time = Counter[str]()
    for channel in netlist.channels:
        sent_off_time[channel.producer[0]] += off_time[channel.name]
    difference = _compare_outputs(exact.outputs or {}, meant.outputs)
    symbols = measure(program.graph, meant.checkers)
    buffers = compare_buffers(netlist, exact, approximate, symbols)
    traffic = compare_traffic(netlist, exact, approximate, symbols)
    expectation = deviation(program, meant.outputs)
    return Comparison(
        program=program.name,
        exact_cycles=exact.cycles,
        approximate_cycles=approximate.cycles,
        tokens=exact.tokens,
        mismatches=off_time.total(),
        first_mismatch=first_mismatch,
        outputs_equal=difference is None,
        first_difference=difference,
        buffers=buffers,
        first_peak=next((each.difference for each in buffers if each.difference), None),
        traffic=traffic,
        first_traffic=next((each.difference for each in traffic if each.difference), None),
        deviation=None if expectation is None else expectation.relative,
        tolerance=None if expectation is None else expectation.tolerance,
        first_unexpected=None if expectation is None else expectation.first,
        build_seconds=raw.build_seconds,
        rtl_seconds=exact.wall_seconds,
        rtl_cycles_per_second=raw.cycles_per_second,
        approx_seconds=approximate.wall_seconds,
        approx_tokens_per_second=approximate.tokens_per_second,
        operators=tuple(
            OperatorComparison(name, each, approximate.operators[name], sent_off_time[name])
            for name, each in exact.operators.items()
        ),
    )


def _compare_events(
    exact: Mapping[str, ChannelEvents], approximate: Mapping[str, ChannelEvents]
) -> tuple[Counter[str], str | None]:
    """Number of tokens that differ in each channel, and a line about the earliest."""
    mismatches, lines = Counter[str](), list[tuple[int, str]]()
    for name, left in exact.items():
        right = approximate[name]
        counts = len(left.cycles), len(right.cycles)
        common = min(counts)
        differ = (left.cycles[:common] != right.cycles[:common]) | (left.control[:common] != right.control[:common])
        mismatches[name] = int(differ.sum()) + abs(counts[0] - counts[1])
        if differ.any():
            token = int(np.argmax(differ))
            cycle = int(left.cycles[token])
            lines.append((cycle, f"{name}: token {token} at {cycle} in the RTL, {right.cycles[token]} in the model"))
        elif counts[0] != counts[1]:
            lines.append((1 << 62, f"{name}: {counts[0]} tokens in the RTL, {counts[1]} in the model"))
    return mismatches, min(lines, key=lambda each: each[0])[1] if lines else None


def _compare_outputs(exact: Mapping[str, list[Token]], meaning: Mapping[str, list[Token]]) -> str | None:
    """A line about the first output that is not equal bit for bit, or None."""
    for name, wanted in meaning.items():
        got = exact[name]
        if len(got) != len(wanted):
            return f"{name}: {len(got)} tokens from the RTL, {len(wanted)} from the interpreter"
        for position, (left, right) in enumerate(zip(got, wanted, strict=True)):
            if not same(left, right):
                return f"{name}: token {position} is not equal"
    return None
