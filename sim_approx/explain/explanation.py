"""One object that says where the cycles of a run went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from sim_approx.backend import Model
from sim_approx.engine.record import RunRecord
from sim_approx.explain.bandwidth import Advice, advice
from sim_approx.explain.changes import WhatIf, what_if
from sim_approx.explain.path import Path, critical_path
from sim_approx.explain.usage import Usage, usage
from sim_approx.explain.waits import Account, accounts
from sim_approx.running.model_run import ModelRun
from step.host.progress import Progress, silent
from step.programs.files.json_file import format_of
from step.programs.folding import folded
from step.programs.prepare import Prepared, prepare
from step.programs.program import Program
from step.running.result import RunResult


@dataclass(frozen=True)
class Explanation:
    """The run of ``program`` with its ``result``, of which everything is known in ``simulation`` and ``record``.

    ``path`` is the critical one, ``accounts`` has what became of the cycles of every operator, ``usage`` the shares of
    lanes, links and memory, ``what_if`` the changes that would make it shorter, ``advice`` why memory moved no more.
    """

    program: Program
    result: RunResult
    path: Path
    accounts: dict[str, Account]
    usage: Usage
    what_if: list[WhatIf]
    advice: Advice | None
    simulation: ModelRun = field(repr=False)
    record: RunRecord = field(repr=False)

    @property
    def cycles(self) -> int:
        return self.result.cycles

    @cached_property
    def parts(self) -> dict[str, str]:
        """By operator, the repeated part that it is one of (`step.programs.folding`)."""
        return folded(self.simulation.fabric.netlist.graph)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        roofline = self.usage.roofline
        return {
            "format": format_of("explanation"),
            "program": self.program.name,
            "cycles": self.cycles,
            "critical_path": [
                {"what": cause.what, "why": cause.why, "cycles": cycles, "share": cycles / self.cycles}
                for cause, cycles in self.path.shares().items()
            ],
            "operators": {name: vars(each) for name, each in self.accounts.items()},
            "lanes": self.usage.lanes,
            "links": self.usage.links,
            "memory": self.usage.memory,
            "bandwidth": self.advice and asdict(self.advice),
            "what_if": [asdict(each) for each in self.what_if],
            "roofline": asdict(roofline)
            | {name: getattr(roofline, name) for name in ("intensity", "attained", "roof")},
        }


def explain(
    program: Program,
    prepared: Prepared | None = None,
    *,
    changes: bool = True,
    max_cycles: int | None = None,
    progress: Progress = silent,
) -> Explanation:
    """Run ``program`` on the fast model, and say where the cycles went; with ``changes``, also what if there were some.

    ``prepared``: the program, where somebody has that already; ``progress`` is told how far the run is. Raises what
    `sim_approx.backend.run` raises: a run that fails has no end to begin with.
    """
    prepared = prepared or prepare(program)
    record = RunRecord()
    simulation = Model.of(prepared, symbols=True).run(record, events=True, max_cycles=max_cycles, progress=progress)
    result = simulation.finished()
    fabric, ending = simulation.fabric, simulation.ending
    path = critical_path(fabric, record, ending.cycles)
    advised = advice(fabric, record, path.shares(), ending.cycles)
    settings = advised.settings if advised else ()
    return Explanation(
        program,
        result,
        path,
        accounts(fabric, record, result),
        usage(program, fabric, record, result),
        what_if(program.graph, prepared.data, simulation, record, path, settings) if changes else [],
        advised,
        simulation,
        record,
    )
