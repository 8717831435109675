"""What a calibration lacks, measured batch by batch; each is in the file before the next one begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cosim.backend import run_rtl
from cosim.building.doctor import diagnose
from cosim.comparing.compare import compared
from sim_approx.calibration.applied import asked
from sim_approx.calibration.entries import HeldOut
from sim_approx.calibration.file import PARAMETERS, Calibration, parameters_of, rtl_digest
from sim_approx.calibration.lookup import uses_plain_memory
from step.errors import InputError
from step.host.progress import Progress, silent
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs
from step.programs.prepare import prepare
from step.programs.program import Program
from step_check.calibration.alone import alone
from step_check.calibration.bench import Bench, Build
from step_check.calibration.measure import Measured
from step_check.calibration.memory import measure_memory
from step_check.fuzz.units import units

TOGETHER = 24
"""Units in one build of the simulator."""

VALUES = 120
"""Values that pass each unit, or a few more."""

Units = Mapping[str, Build]
"""By label."""


def bench_fabric(parameters: Mapping[str, Any]) -> FabricConfig:
    """The fabric with the parameters of a calibration, on which nothing makes a unit wait."""
    link = parameters["link_bytes"]
    return FabricConfig(
        **{name: parameters[name] for name in PARAMETERS},
        page_bytes=8192 * max(1, link // 64),
        scratchpad_bytes=65536 * max(1, link // 64),
        scratchpad_ports=1,
        outstanding=64,
        memory=MemoryConfig(beat_bytes=link, channels=32),
    )


def units_of_program(program: Program) -> Units:
    """The units of which the fast model has to know how long their functions take, each once."""
    netlist = lower(program.graph, program.fabric)
    found = asked(netlist, bind_inputs(netlist.graph, program.inputs))
    return {f"{node.name}": alone(node, function) for node, function in found}


def standard_units(fabric: FabricConfig) -> Iterator[Units]:
    """Every function in every operator that applies it, for values of a row of numbers and of four words, with the
    rows of both."""
    for rows in (1, 4 * max(1, fabric.link_bytes // 16)):
        found = {each.label: each.alone() for each in units(rows)}
        applied = {label: (node, node.operator.function) for label, node in found.items() if node is not None}
        yield {label: alone(node, function) for label, (node, function) in applied.items() if function is not None}


class Campaign:
    """Fills ``calibration``, of which the file is written again with every batch."""

    def __init__(self, calibration: Calibration, fabrics: Sequence[FabricConfig], progress: Progress = silent) -> None:
        self.calibration, self.fabrics, self.progress = calibration, fabrics, progress
        self.fabric = bench_fabric(calibration.fabric)
        self.rtl = rtl_digest()
        calibration.held_out = {name: each for name, each in calibration.held_out.items() if each.rtl == self.rtl}
        self.measured: list[str] = []
        self.kept: set[str] = set()
        self.formulas: dict[str, tuple[int, int]] = {}

    @classmethod
    def on(cls, path: Path, fabrics: Sequence[FabricConfig], seed: int | None) -> Campaign:
        """One that goes on with the file ``path`` where it is there, for ``fabrics`` that must be alike.

        Raises `FormatError` for a file that is no calibration, `FabricError` for one of another fabric, and for fabrics
        that are not alike, and `InputError` for one with another ``seed``.
        """
        if not path.exists():
            calibration = Calibration(path, parameters_of(fabrics[0]), seed or 0)
        else:
            calibration = Calibration.load(path)
            if seed is not None and seed != calibration.seed:
                raise InputError(f"{path} was begun with --seed {calibration.seed}, not {seed}")
        for each in fabrics:
            calibration.check_fabric(each)
        return cls(calibration, fabrics)

    def all(self, programs: Sequence[Program], held_out: Sequence[Program]) -> None:
        """Measure what ``programs`` and ``held_out`` need, or without any all units, and compare ``held_out``."""
        if not programs and not held_out:
            self.memory(self.fabrics[0])
            for units in standard_units(self.fabric):
                self.run(units)
        for program in (*programs, *held_out):
            if uses_plain_memory(lower(program.graph, program.fabric)):
                self.memory(program.fabric)
            self.run(units_of_program(program))
        if not self.calibration.path.exists():  # there was nothing to measure
            self.save()
        for program in held_out:
            self._compare(program)

    def memory(self, fabric: FabricConfig) -> None:
        """Measure the memory of ``fabric``, unless the calibration has it of the same RTL.

        Raises `FabricError` where the calibration has another one.
        """
        if fabric.memory.dram is not None:
            return  # which is set, not measured
        self.calibration.check_memory(fabric)
        known = self.calibration.memory
        if known is None or known.rtl != self.rtl:
            self.progress("measuring the memory")
            self.calibration.memory = measure_memory(fabric, self.rtl, now(), self.progress)
            self.save()

    def run(self, units: Units) -> None:
        """Measure those of ``units`` that the calibration does not have, or has of other RTL."""
        if not units:
            return
        bench = self._bench(units)
        applied = bench.applied()
        self.formulas |= {applied[label].key: each for label, each in bench.formulas().items()}
        wanted: dict[str, str] = {}
        for label, each in applied.items():
            known = self.calibration.units.get(each.key)
            if known is None or known.rtl != self.rtl:
                wanted.setdefault(each.key, label)
            elif each.key not in self.measured:
                self.kept.add(each.key)
        labels = list(wanted.values())
        for start in range(0, len(labels), TOGETHER):
            self._measure({label: units[label] for label in labels[start : start + TOGETHER]})

    def _measure(self, units: Units) -> None:
        bench = self._bench(units)
        self.progress(f"{len(self.measured)} units measured, {len(units)} more: building")
        run = run_rtl(prepare(bench.netlist, bench.data), optimize=False, progress=self.progress)
        assert run.result.events is not None
        for each in bench.units(run.result.events, self.rtl, now()):
            self.calibration.units[each.applied.key] = each
            self.measured.append(each.applied.key)
        self.save()

    def _compare(self, program: Program) -> None:
        found = compared(program, prepare(program), self.progress, optimize=False, calibration=self.calibration.path)
        numbers = (found.tokens, found.mismatches, found.exact_cycles, found.approximate_cycles, found.error)
        self.calibration.held_out[program.name] = HeldOut(program.name, *numbers, self.rtl, now())
        self.save()

    def _bench(self, units: Units) -> Measured:
        bench = Bench(Graph("calibration"), VALUES, self.calibration.seed)
        for label, build in units.items():
            bench.put(label, build)
        return Measured(bench.program(self.fabric), tuple(bench.labels))

    def save(self) -> None:
        """Write the file, with the tools of now."""
        self.calibration.tools = {each.tool: each.found for each in diagnose() if each.required and each.found}
        self.calibration.date = now()
        self.calibration.save()


def now() -> str:
    """The time, as it stands in files."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
