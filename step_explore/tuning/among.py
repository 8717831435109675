"""The fastest of many programs that do the same, each with hardware within one budget, in about a second a program.

1. Every program runs on the widest hardware, which says how many cycles it takes at least.
2. In the order of these cycles an integer program on closed formulas chooses hardware within the budget, and the fast
   model runs it, until all that are left would be slower than the best with any hardware.
3. The best few get links of their own for every unit; the best of these runs of its neighbours, and channels that are
   less deep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from step.errors import InputError, ProgramError
from step.host.progress import Progress, silent
from step.programs.program import Program
from step.running.result import Status
from step_explore.fifos.sizing import size_fifos
from step_explore.fitting.goal import Goal
from step_explore.fitting.quickly import Quickly
from step_explore.fitting.search import Found
from step_explore.fitting.trials import Choice
from step_explore.sweeps.axis import Point, named
from step_explore.sweeps.evaluation import evaluate
from step_explore.sweeps.row import OVER, REFUSED, Row
from step_explore.sweeps.subject import Held, Subject, first_line
from step_explore.tuning.budget import MEMORY, Budget, measure
from step_explore.tuning.entry import AREA, Entry, Searched

PARTS = (0.5, 0.25)
"""Parts of that limit within which the best choices get hardware as well."""


Placed = tuple[Entry, Quickly, Found]
"""A choice, and hardware that was found for it."""


@dataclass(frozen=True)
class Among:
    """Which of the programs that ``make`` makes is the fastest within ``budget``, which has a limit of LUT sites.

    So many ``candidates`` at most get hardware, the best ``finalists`` of these links of their own for every unit, and
    the best of all so many ``runs`` of neighbours.
    """

    make: Callable[[Point], Program]
    budget: Budget
    candidates: int = 50
    finalists: int = 3
    runs: int = 40

    def search(self, points: Sequence[Point], progress: Progress) -> Searched:
        """Look at every one of ``points``; Ctrl-C ends that, and the best so far is the result.

        Raises `InputError` where nothing is within the budget, with what would be needed.
        """
        entries, smaller, interrupted = list[Entry](), dict[int, Entry](), False
        try:
            for each in self._entries(points, progress):
                entries.append(each)
            self._fit([each for each in entries if each.quickly is not None], progress)
            self._with_fewer_bytes(entries)
            for limit, each in self._with_less_area(entries, progress):
                smaller[limit] = each
        except KeyboardInterrupt:
            interrupted = True
            if not _any_finished(entries):
                raise
        for each in entries:
            self._explain(each, interrupted)
        if not _any_finished(entries):
            raise InputError(self._needed(entries))
        return Searched(tuple(entries), len(points), smaller, interrupted)

    def _fit(self, entries: Sequence[Entry], progress: Progress) -> None:
        """Give hardware to those of ``entries`` that may be the fastest, and better hardware to the best of these."""
        for each, quickly, hardware in self._linked(self._rough(entries, progress), progress):
            if each.row.status == Status.FINISHED or self._over_by_fifos(each.row):
                self._place(each, quickly.improved(hardware, self.runs))
            if each.row.status == Status.FINISHED:
                self._size(each)
                break

    def _entries(self, points: Sequence[Point], progress: Progress) -> Iterator[Entry]:
        """All on the widest hardware; of programs that are the same just the first one gets other hardware."""
        goal, known = Goal({AREA: self.budget.limits[AREA]}, None), dict[str | None, Entry]()
        for at, point in enumerate(points, 1):
            try:
                program = self.make(point)
            except ProgramError as refusal:
                refused = Row(point, REFUSED, error=first_line(refusal))
                yield Entry(point, refused, refused)
                continue
            row = replace(evaluate(Subject(Held(program)), {}), point=point)
            judged = self._judged(row)
            within = program if judged.status == Status.FINISHED else None
            entry = Entry(point, row, judged, within, same=known.get(row.digest))
            known.setdefault(row.digest, entry)
            if row.status == Status.FINISHED and entry.same is None:
                entry.quickly = Quickly(program, goal)
            progress(f"{at} of {len(points)} choices have run on the widest hardware")
            yield entry

    def _rough(self, entries: Sequence[Entry], progress: Progress) -> list[Placed]:
        """Those that may be the fastest, with one width for all links, the best first."""
        found, best = list[Placed](), math.inf
        for each in sorted(entries, key=lambda each: each.fewest):
            if len(found) == self.candidates or each.fewest >= best:
                break
            assert each.quickly is not None
            rough = each.quickly.rough() if self._has_buffers(each.whole) else None
            if rough is not None:
                found.append((each, each.quickly, rough))
                self._place(each, rough[0])
                if each.row.status == Status.FINISHED:
                    best = min(best, each.row.cycles or 0)
                progress(f"{len(found)} choices have hardware; the fastest takes {best:,} cycles")
        return sorted(found, key=_cycles)

    def _linked(self, rough: Sequence[Placed], progress: Progress) -> list[Placed]:
        """With links for every unit of the best ones, the best first."""
        found = list[Placed]()
        for entry, quickly, hardware in rough[: self.finalists]:
            found.append((entry, quickly, linked := quickly.linked(hardware)))
            if linked is not hardware:
                self._place(entry, linked[0])
            progress(f"{len(found)} of {self.finalists} finalists have links of their own")
        return sorted([*found, *rough[self.finalists :]], key=_cycles)

    def _with_fewer_bytes(self, entries: Sequence[Entry]) -> None:
        """Give hardware to those that are slower, but have fewer bytes on chip than all that are faster."""
        ran = [each for each in entries if each.row.status == Status.FINISHED]
        fewest = min((each.row.on_chip_bytes or 0 for each in ran), default=0)
        for each in sorted(entries, key=lambda each: (each.fewest, each.whole.on_chip_bytes or 0)):
            if each.quickly is not None and each.program is None and (each.whole.on_chip_bytes or 0) < fewest:
                rough = each.quickly.rough()
                if rough is not None:
                    self._place(each, rough[0])
                if each.row.status == Status.FINISHED:
                    fewest = each.row.on_chip_bytes or 0

    def _with_less_area(self, entries: Sequence[Entry], progress: Progress) -> Iterator[tuple[int, Entry]]:
        """The fastest one of the finalists within each of `PARTS` of the area."""
        ran = [each for each in entries if each.row.status == Status.FINISHED and each.quickly is not None]
        best = sorted(ran, key=lambda each: each.row.cycles or 0)[: self.finalists]
        for part in PARTS:
            limit = int(part * self.budget.limits[AREA])
            within = replace(self, budget=Budget({**self.budget.limits, AREA: limit}), finalists=1)
            found = [within._anew(each) for each in best]
            within._linked(within._rough(found, silent), silent)
            there = [each for each in found if each.program is not None and each.row.status == Status.FINISHED]
            if there:
                yield limit, min(there, key=lambda each: each.row.cycles or 0)
            progress(f"{limit:,} of the {self.budget.limits[AREA]:,.0f} {AREA} are enough for {len(there)} choices")

    def _anew(self, entry: Entry) -> Entry:
        """``entry`` without the hardware that it has in another budget."""
        assert entry.quickly is not None
        goal = Goal({AREA: self.budget.limits[AREA]}, None)
        return replace(entry, row=self._judged(entry.whole), program=None, quickly=Quickly(entry.quickly.program, goal))

    def _place(self, entry: Entry, choice: Choice) -> None:
        """Give ``entry`` the hardware of ``choice``, with depths of channels that bring it into the budget."""
        assert entry.quickly is not None
        program = entry.quickly.program
        graph = replace(program.graph, depths={**program.graph.depths, **choice.depths})
        entry.program = replace(program, graph=graph, fabric=choice.fabric)
        entry.row = self._ran(entry, entry.program)
        if entry.row.status == OVER and self._over_by_fifos(entry.row):
            self._size(entry)

    def _size(self, entry: Entry) -> None:
        """Give ``entry`` the fastest depths of channels within the budget, if these are better than those it has."""
        assert entry.program is not None
        sizing = size_fifos(entry.program, threads=1)
        for sized in sizing.front:
            program = sizing.binding(sized).applied(entry.program)
            row = self._ran(entry, program)
            if row.status == Status.FINISHED:
                if entry.row.status != Status.FINISHED or _takes(row) < _takes(entry.row):
                    entry.row, entry.program = row, program
                break
        if sizing.interrupted:
            raise KeyboardInterrupt

    def _ran(self, entry: Entry, program: Program) -> Row:
        return self._judged(replace(evaluate(Subject(Held(program)), {}), point=entry.point))

    def _explain(self, entry: Entry, interrupted: bool) -> None:
        """Say why ``entry`` has no hardware, or give it what that of the same program has."""
        if entry.same is not None:
            entry.row, entry.program = replace(entry.same.row, point=entry.point), entry.same.program
        elif entry.quickly is not None and entry.program is None and entry.row.status == OVER:
            least, limit = 0 if interrupted else math.ceil(entry.quickly.least.lut_sites), self.budget.limits[AREA]
            reason = f"at least {entry.fewest:,} cycles, with any hardware: not among the best"
            if interrupted:
                reason = f"at least {entry.fewest:,} cycles, with any hardware: not looked at, as Ctrl-C came"
            elif least > limit:
                reason = f"over the budget: {AREA} at least {least:,} of {limit:,.0f}"
            elif not self._has_buffers(entry.whole):
                reason = f"over the budget: {_buffers(entry.whole):,} bytes of buffers alone"
            entry.row = replace(entry.row, error=reason)

    def _judged(self, row: Row) -> Row:
        reason = self.budget.exceeded(row) if row.status == Status.FINISHED else None
        return replace(row, status=OVER, error=reason) if reason else row

    def _over_by_fifos(self, row: Row) -> bool:
        """Whether less deep channels may bring it into the budget."""
        return self.budget.without(MEMORY).exceeded(row) is None and self._has_buffers(row)

    def _has_buffers(self, row: Row) -> bool:
        """Whether its buffers are within the budget, whatever its FIFOs are."""
        limit = self.budget.limits.get(MEMORY)
        return limit is None or _buffers(row) <= limit

    def _needed(self, entries: Sequence[Entry]) -> str:
        """What the nearest of ``entries`` needs; or why there is none that runs at all."""
        runs = [each for each in entries if each.quickly is not None]
        limits = {name: limit for name, limit in self.budget.limits.items() if name in (AREA, MEMORY)}
        if not runs:
            return f"none of the {len(entries)} choices runs; of the last one: {entries[-1].row.error}"

        def misses(each: Entry) -> float:
            return max(each.needs[name] / limit for name, limit in limits.items())

        near = min(runs, key=misses)
        asked = ", ".join(f"{name} {limit:,.0f}" for name, limit in limits.items())
        needed = near.smallest() if MEMORY in limits else near.needs
        needs = ", ".join(f"{name} {math.ceil(needed[name]):,}" for name in limits)
        return f"no choice is within {asked}; the nearest, {named(near.point)}, needs {needs}"


def _takes(row: Row) -> tuple[float, float]:
    """Cycles and on-chip memory."""
    return row.cycles or 0, measure(row, MEMORY) or 0


def _any_finished(entries: Sequence[Entry]) -> bool:
    return any(each.row.status == Status.FINISHED for each in entries)


def _buffers(row: Row) -> int:
    """Bytes on chip, whatever its FIFOs are."""
    return (row.on_chip_bytes or 0) + (row.load_bytes or 0)


def _cycles(placed: Placed) -> int:
    return placed[2][0].cycles
