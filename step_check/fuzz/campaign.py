"""Many random programs, checked one after the other, and those that fail made small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from step.host.progress import Progress, silent
from step.language.graph import Graph
from step.lowering.feasible import with_lanes
from step.lowering.netlist import lower
from step.programs.program import Program
from step_check.fuzz.check import DEADLOCK, Disagreement, check, check_rtl, failing
from step_check.fuzz.farm import side_by_side
from step_check.fuzz.program import (
    LARGEST_BUFFER,
    OPERATORS,
    build,
    fabric,
    own_lanes,
    own_links,
    program,
    with_masters,
    with_rows,
)
from step_check.fuzz.report import FuzzFinding
from step_check.fuzz.shrink import shrink

TOGETHER = 12
"""Programs in one build of the simulator."""

RTL_TRIES = 25
"""Builds of the simulator that a program which fails in RTL is made smaller with."""


@dataclass
class FuzzCampaign:
    """Programs of ``operators`` operators, and what was found in them; ``save`` is the directory that keeps it.

    ``kinds`` counts their operators, ``tokens`` those in all their channels. ``crowded`` are the seeds that were left
    out of RTL because their channels have too little space on the fabric that they would have shared.
    """

    operators: tuple[int, int] = OPERATORS
    save: Path | None = None
    progress: Progress = silent
    findings: list[FuzzFinding] = field(default_factory=list)
    agreed: int = 0
    agreed_rtl: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    crowded: list[int] = field(default_factory=list)

    def check(self, seed: int, *, roomy: bool = False) -> bool:
        """Interpreter and fast model on the program of ``seed``; whether they agree.

        One that deadlocks for want of space in its channels is taken once more with space for everything (``roomy``).
        """
        found: Program | None = None
        try:
            with failing("generator"):
                found = program(seed, operators=self.operators, roomy=roomy)
            self.tokens += check(found).tokens
        except Disagreement as error:
            if error.kind == DEADLOCK and not roomy:
                return self.check(seed, roomy=True)
            self._found(FuzzFinding((seed,), seed, self.operators, False, error.kind, str(error), found), check)
            return False
        self.kinds += Counter(node.operator.name for node in found.graph)
        self.agreed += 1
        return True

    def add(self, other: FuzzCampaign) -> None:
        """Take over findings and counts of ``other``."""
        self.findings += other.findings
        self.agreed, self.tokens = self.agreed + other.agreed, self.tokens + other.tokens
        self.kinds += other.kinds

    def check_rtl(self, seeds: Sequence[int], first: int) -> bool:
        """RTL against both on the programs of ``seeds``, side by side in one build; whether they agree.

        The fabric is that of the seed ``first``.
        """
        together = self._fitting(seeds, first)
        if not together:
            return True
        try:
            check_rtl(self._together(together, first), self.progress)
        except Disagreement as error:
            failed, error = self._narrowed(together, first, error)
            whole = self._together(failed, first)
            finding = FuzzFinding(tuple(failed), first, self.operators, True, error.kind, str(error), whole)
            self._found(finding, check_rtl, tries=RTL_TRIES)
            return False
        self.agreed_rtl += len(together)
        return True

    def _found(self, finding: FuzzFinding, check: Callable[[Program], object], tries: int = 1000) -> None:
        """Keep ``finding``, and every smaller program with it as soon as it is there."""
        self.findings.append(finding)
        if self.save is None:
            return
        finding.save(self.save)

        def fails(candidate: Program) -> bool:
            try:
                check(candidate)
            except Disagreement as error:
                failures.append(error)
                return error.kind == finding.kind
            return False

        failures: list[Disagreement] = []
        for smaller in shrink(finding.program, fails, tries=tries) if finding.program else ():
            self.progress(f"{finding.name}: {finding.kind}: {len(smaller.graph.nodes)} operators")
            self.findings[-1] = replace(finding, program=smaller, text=str(failures[-1]))
            self.findings[-1].save(self.save)

    # -- several in one build -----------------------------------------------------------------------------------

    def _together(self, seeds: Sequence[int], first: int) -> Program:
        """The programs of ``seeds`` side by side, on the fabric of ``first`` with on-chip memory for them all."""

        rows = []

        def builder(seed: int, graph: Graph) -> dict[str, object]:
            draft = build(seed, graph, operators=self.operators)
            rows.append(draft.most_rows)
            return draft.inputs

        graph, inputs = side_by_side("random", [partial(builder, each) for each in seeds])
        base = with_masters(with_rows(fabric(first), graph, max(rows)), graph, first)
        netlist, lanes, links = lower(graph, base), dict[str, int](), dict[str, int]()
        nodes = with_lanes(netlist)
        for number, seed in enumerate(seeds):
            lanes |= own_lanes(seed, [node for node in nodes if node.name.startswith(f"s{number}_")])
            links |= own_links(seed, netlist, f"s{number}_")
        pages = base.scratchpad_ports * base.scratchpad_banks * LARGEST_BUFFER
        room = base.page_bytes * pages * 2
        return Program(graph, inputs, replace(base, lanes=lanes, links=links, scratchpad_bytes=room))

    def _fitting(self, seeds: Sequence[int], first: int) -> list[int]:
        """The ``seeds`` that do not deadlock on the fabric of ``first``."""
        fitting = []
        for seed in seeds:
            try:
                check(self._together([seed], first))
            except Disagreement as error:
                if error.kind == DEADLOCK:
                    self.crowded.append(seed)
                    continue
            fitting.append(seed)  # one that disagrees fails in RTL too, or that disagrees
        return fitting

    def _narrowed(self, seeds: list[int], first: int, error: Disagreement) -> tuple[list[int], Disagreement]:
        """Fewer of ``seeds`` that disagree, down to one where it does so without the others."""
        middle = len(seeds) // 2
        parts = [seeds[:middle], seeds[middle:]]
        if error.where is not None:
            parts = [[seeds[int(error.where[1 : error.where.index("_")])]]]
        for part in parts:
            if part and len(part) < len(seeds):
                try:
                    check_rtl(self._together(part, first), self.progress)
                except Disagreement as smaller:
                    return self._narrowed(part, first, smaller)
        return seeds, error


def checked(operators: tuple[int, int], save: Path | None, seed: int) -> tuple[int, FuzzCampaign]:
    """``seed``, and a campaign of its program alone: for other processes."""
    campaign = FuzzCampaign(operators, save)
    campaign.check(seed)
    return seed, campaign


def lost(operators: tuple[int, int], save: Path | None, seed: int, reason: str) -> tuple[int, FuzzCampaign]:
    """The same where the process was killed: a finding that says so."""
    finding = FuzzFinding((seed,), seed, operators, False, "killed", reason, None)
    return seed, FuzzCampaign(operators, save, findings=[finding])
