"""The fastest of many programs, imports of a model say, each with hardware within one budget: about a second for each.

1. Every program runs on the widest hardware, which says how many cycles it takes at least.
2. In the order of these cycles an integer program on closed formulas chooses hardware within the budget, and the fast
   model runs it, until all that are left would be slower than the best with any hardware.
3. The best few get links of their own for every unit; the best of these runs of its neighbours, and channels that are
   less deep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from step import Program
from step.errors import InputError, ProgramError
from step.host.progress import Progress, silent
from step.running.result import Status
from step_explore.fifos.sizing import size_fifos
from step_explore.fitting.fitter import Fitter
from step_explore.fitting.goal import Goal
from step_explore.fitting.trials import Choice, Trials
from step_explore.sweeps.axis import Point, named
from step_explore.sweeps.evaluation import measured
from step_explore.sweeps.row import OVER, REFUSED, Row
from step_explore.sweeps.subject import first_line
from step_explore.tuning.budget import AREA, MEMORY, Budget, measure

PARTS = (0.5, 0.25)
"""Parts of the limit of LUT sites within which the best imports get hardware as well."""
ROOM = (0.9, 0.7, 0.5)
"""Parts of that limit for lanes and links, the next one where depths that fit into the memory then take too many."""


@dataclass(eq=False)
class Candidate:
    """A program: its ``row``, and the ``whole`` row that it has on the widest hardware.

    ``program`` is that on hardware that was chosen, None where there is none. ``same``: the first candidate that is the
    same program.
    """

    whole: Row
    row: Row
    program: Program | None = None
    same: Candidate | None = field(default=None, repr=False)

    @property
    def fewest(self) -> int:
        """Cycles with any hardware."""
        return self.whole.cycles or 0

    @property
    def ended(self) -> bool:
        """Whether it ran within the budget."""
        return self.row.status == Status.FINISHED


@dataclass(eq=False)
class Fitting(Candidate):
    """A candidate with the ``hardware`` that a ``fitter`` chose, None where it chose none."""

    fitter: Fitter = field(repr=False, kw_only=True)
    hardware: Choice | None = field(default=None, repr=False)

    def chosen(self) -> Choice:
        """The hardware, which there is."""
        assert self.hardware is not None
        return self.hardware


@dataclass(frozen=True)
class Mapper:
    """Looks for the fastest of the programs that ``make`` makes within ``budget``, which has a limit of LUT sites.

    So many ``candidates`` at most get hardware, the best ``finalists`` of these links of their own for every unit, and
    the best of all so many ``runs`` of neighbours.
    """

    make: Callable[[Point], Program]
    budget: Budget
    candidates: int
    finalists: int
    runs: int
    progress: Progress

    def search(self, points: Sequence[Point]) -> tuple[list[Candidate], dict[int, Candidate], bool]:
        """Candidates of all ``points``, the fastest one with at most so many LUT sites, which are parts of the budget,
        and whether Ctrl-C came: then they are the best so far.

        Raises `InputError` where nothing is within the budget, with what would be needed.
        """
        found, smaller, interrupted = list[Candidate](), dict[int, Candidate](), False
        try:
            for each in self._on_the_widest(points):
                found.append(each)
            fitting = [each for each in found if isinstance(each, Fitting)]
            self._choose_with_room(fitting)
            self._choose_fewer_bytes(fitting)
            for limit, each in self._with_less_area(fitting):
                smaller[limit] = each
        except KeyboardInterrupt:
            interrupted = True
            if not any(each.ended for each in found):
                raise
        for each in found:
            self._explain(each, interrupted)
        if not any(each.ended for each in found):
            raise InputError(self._needed(found))
        return found, smaller, interrupted

    def _on_the_widest(self, points: Sequence[Point]) -> Iterator[Candidate]:
        """All on the widest hardware; of programs that are the same just the first one gets other hardware."""
        known = dict[str | None, Candidate]()
        for at, point in enumerate(points, 1):
            try:
                program = self.make(point)
            except ProgramError as refusal:
                refused = Row(point, REFUSED, error=first_line(refusal))
                yield Candidate(refused, refused)
                continue
            whole = measured(program, point)
            each = Candidate(whole, self.budget.judged(whole), same=known.get(whole.digest))
            if whole.status == Status.FINISHED and each.same is None:
                each = Fitting(whole, each.row, fitter=self._fitter(Trials(program, silent)))
            each.program = program if each.ended else None
            known.setdefault(whole.digest, each)
            self.progress(f"{at} of {len(points)} choices have run on the widest hardware")
            yield each

    def _fitter(self, trials: Trials, part: float = 1) -> Fitter:
        return Fitter(trials, Goal({AREA: part * self.budget.limits[AREA]}))

    def _choose_with_room(self, candidates: Sequence[Fitting]) -> None:
        """Give hardware to ``candidates``, within less area where none comes into the budget by depths of channels."""
        self._choose(candidates)
        for part in ROOM:
            if any(each.ended for each in candidates) or not any(each.hardware for each in candidates):
                break
            for each in candidates:
                each.fitter = self._fitter(each.fitter.trials, part)
            self._choose(candidates)

    def _choose(self, candidates: Sequence[Fitting]) -> None:
        """Give hardware to ``candidates`` that may be the fastest, and better hardware to the best of these."""
        for each in self._link(self._chosen_roughly(candidates)):
            if each.ended or self._over_by_fifos(each.row):
                self._place(each, each.fitter.finished(each.chosen(), self.runs))
            if each.ended:
                self._size(each)
                break

    def _chosen_roughly(self, candidates: Sequence[Fitting]) -> list[Fitting]:
        """Candidates that may be the fastest, with one width for all links, the best first."""
        found, best = list[Fitting](), math.inf
        for each in sorted(candidates, key=lambda each: each.fewest):
            if len(found) == self.candidates or each.fewest >= best:
                break
            if self._has_buffers(each.whole) and self._choose_roughly(each):
                found.append(each)
                best = min(best, each.row.cycles or 0) if each.ended else best
                fastest = "; none is within the budget" if best == math.inf else f"; the fastest takes {best:,} cycles"
                self.progress(f"{len(found)} choices have hardware{fastest}")
        return sorted(found, key=lambda each: each.chosen().cycles)

    def _choose_roughly(self, candidate: Fitting) -> bool:
        """Give ``candidate`` hardware with one width for all links; whether there is some."""
        rough = candidate.fitter.rough()
        if rough is not None:
            self._place(candidate, rough)
        return rough is not None

    def _link(self, rough: Sequence[Fitting]) -> list[Fitting]:
        """Give the best ones links for every unit; all of them, the best first."""
        for at, each in enumerate(rough[: self.finalists], 1):
            linked = each.fitter.linked(each.chosen())
            if linked is not each.hardware:
                self._place(each, linked)
            self.progress(f"{at} of {self.finalists} finalists have links of their own")
        return sorted(rough, key=lambda each: each.chosen().cycles)

    def _choose_fewer_bytes(self, candidates: Sequence[Fitting]) -> None:
        """Give hardware to those that are slower, but have fewer bytes on chip than all that are faster."""
        fewest = min((each.row.on_chip_bytes or 0 for each in candidates if each.ended), default=0)
        for each in sorted(candidates, key=lambda each: (each.fewest, each.whole.on_chip_bytes or 0)):
            if each.program is None and (each.whole.on_chip_bytes or 0) < fewest:
                self._choose_roughly(each)
                fewest = (each.row.on_chip_bytes or 0) if each.ended else fewest

    def _with_less_area(self, candidates: Sequence[Fitting]) -> Iterator[tuple[int, Candidate]]:
        """The fastest one of the finalists within each of `PARTS` of the area."""
        ended = [each for each in candidates if each.ended]
        best, most = sorted(ended, key=lambda each: each.row.cycles or 0)[: self.finalists], self.budget.limits[AREA]
        for part in PARTS:
            limit = int(part * most)
            budget = Budget({**self.budget.limits, AREA: limit})
            within = replace(self, budget=budget, finalists=1, progress=silent)
            found = [
                Fitting(each.whole, budget.judged(each.whole), fitter=within._fitter(each.fitter.trials))
                for each in best
            ]
            within._link(within._chosen_roughly(found))
            there = [each for each in found if each.program is not None and each.ended]
            if there:
                yield limit, min(there, key=lambda each: each.row.cycles or 0)
            self.progress(f"{limit:,} of the {most:,.0f} {AREA} are enough for {len(there)} choices")

    # -- hardware of one candidate ----------------------------------------------------------------------------------

    def _place(self, candidate: Fitting, hardware: Choice) -> None:
        """Give ``candidate`` this ``hardware``, with depths of channels that bring it into the budget, unless only what
        it has is within that."""
        before, program = replace(candidate), candidate.fitter.trials.program
        graph = replace(program.graph, depths={**program.graph.depths, **hardware.depths})
        candidate.hardware, candidate.program = hardware, replace(program, graph=graph, fabric=hardware.fabric)
        candidate.row = self._ran(candidate, candidate.program)
        if candidate.row.status == OVER and self._over_by_fifos(candidate.row):
            self._size(candidate)
        if before.ended and not candidate.ended:
            candidate.hardware, candidate.program, candidate.row = before.hardware, before.program, before.row

    def _size(self, candidate: Candidate) -> None:
        """Give ``candidate`` the fastest depths of channels within the budget, if they are better than those it has."""
        assert candidate.program is not None
        sizing = size_fifos(candidate.program, threads=1)
        for each in sizing.front:
            program = sizing.binding(each).applied(candidate.program)
            row = self._ran(candidate, program)
            if row.status == Status.FINISHED:
                if not candidate.ended or _takes(row) < _takes(candidate.row):
                    candidate.row, candidate.program = row, program
                break
        if sizing.interrupted:
            raise KeyboardInterrupt

    def _ran(self, candidate: Candidate, program: Program) -> Row:
        return self.budget.judged(measured(program, candidate.row.point))

    def _over_by_fifos(self, row: Row) -> bool:
        """Whether less deep channels may bring it into the budget."""
        return self.budget.without(MEMORY).exceeded(row) is None and self._has_buffers(row)

    def _has_buffers(self, row: Row) -> bool:
        """Whether its buffers are within the budget, whatever its FIFOs are."""
        return _buffers(row) <= self.budget.limits.get(MEMORY, math.inf)

    # -- reasons ----------------------------------------------------------------------------------------------------

    def _explain(self, candidate: Candidate, interrupted: bool) -> None:
        """Say why ``candidate`` has no hardware, or give it what that of the same program has."""
        if (same := candidate.same) is not None:
            candidate.row, candidate.program = replace(same.row, point=candidate.row.point), same.program
        elif isinstance(candidate, Fitting) and candidate.program is None and candidate.row.status == OVER:
            limit = self.budget.limits[AREA]
            least = 0 if interrupted else math.ceil(candidate.fitter.least.area.lut_sites)
            reason = f"at least {candidate.fewest:,} cycles, with any hardware: not among the best"
            if interrupted:
                reason = f"at least {candidate.fewest:,} cycles, with any hardware: not looked at, as Ctrl-C came"
            elif least > limit:
                reason = f"over the budget: {AREA} at least {least:,} of {limit:,.0f}"
            elif not self._has_buffers(candidate.whole):
                reason = f"over the budget: {_buffers(candidate.whole):,} bytes of buffers alone"
            candidate.row = replace(candidate.row, error=reason)

    def _needed(self, candidates: Sequence[Candidate]) -> str:
        """The needs of the nearest of ``candidates``; or why there is none that runs at all."""
        limits = {name: limit for name, limit in self.budget.limits.items() if name in (AREA, MEMORY)}
        needs = [
            (each, each.fitter, {AREA: each.fitter.least.area.lut_sites, MEMORY: measure(each.whole, MEMORY) or 0})
            for each in candidates
            if isinstance(each, Fitting)
        ]
        if not needs:
            return f"none of the {len(candidates)} choices runs; of the last one: {candidates[-1].row.error}"
        near, fitter, needed = min(needs, key=lambda each: max(each[2][name] / limit for name, limit in limits.items()))
        if MEMORY in limits:  # on the least hardware, with channels that only do not deadlock
            narrow = replace(fitter.trials.program, fabric=fitter.least.fabric)
            sizing = size_fifos(narrow, threads=1)
            row = measured(sizing.binding(sizing.least).applied(narrow))
            needed = {AREA: max(needed[AREA], row.lut_sites or 0), MEMORY: measure(row, MEMORY) or 0}
        asked = ", ".join(f"{name} {limit:,.0f}" for name, limit in limits.items())
        texts = ", ".join(f"{name} {math.ceil(needed[name]):,}" for name in limits)
        return f"no choice is within {asked}; the nearest, {named(near.row.point)}, needs {texts}"


def _takes(row: Row) -> tuple[float, float]:
    """Cycles and on-chip memory."""
    return row.cycles or 0, measure(row, MEMORY) or 0


def _buffers(row: Row) -> int:
    """Bytes on chip, whatever its FIFOs are."""
    return (row.on_chip_bytes or 0) + (row.load_bytes or 0)
