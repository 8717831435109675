"""Reachability in circuits: an invariant that keeps all bad states away, or a run that ends in one (IC3).

A *cube* is a set of literals of latches: the states in which all of them are true. Frame ``k`` is what the states that
are reached within ``k`` cycles are known to have in common: the negations of the cubes in it and in all later ones.
What was found is checked once more, apart from how it was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from pysat.solvers import Solver

Cube = frozenset[int]


@dataclass(frozen=True)
class Circuit:
    """An and-inverter graph whose latches are zero at first; literals are variables, negative where inverted.

    ``bad``: true in cycles that must not be; ``given``: literals that are true in every cycle. ``names`` are those of
    the inputs and latches that have one.
    """

    inputs: Sequence[int]
    latches: dict[int, int]
    gates: Sequence[tuple[int, int, int]]
    bad: Sequence[int]
    given: Sequence[int]
    one: int
    names: dict[int, str]

    @classmethod
    def read(cls, text: str) -> Circuit:
        """The circuit of an ASCII AIGER file."""
        lines = text.splitlines()
        top, inputs, latches, outputs, gates, bad, given = (*map(int, lines[0].split()[1:]), 0, 0)[:7]
        assert outputs == 0 and bad > 0 and latches > 0, "nothing is asserted, or nothing moves: is the clock a port?"
        one = top + 1

        def literal(number: int) -> int:
            return (one if number & 1 else -one) if number < 2 else -(number >> 1) if number & 1 else number >> 1

        rows = iter([literal(int(each)) for each in line.split()] for line in lines[1:])
        free = [next(rows)[0] for _ in range(inputs)]
        state = dict(next(rows)[:2] for _ in range(latches))
        wrong, always = [next(rows)[0] for _ in range(bad)], [next(rows)[0] for _ in range(given)]
        ands = [(each[0], each[1], each[2]) for each in (next(rows) for _ in range(gates))]
        order = {"i": free, "l": list(state)}
        symbols = (line.split() for line in lines[1 + inputs + latches + bad + given + gates :] if line[0] in order)
        names = {order[key[0]][int(key[1:])]: name for key, name, *_ in symbols}
        return cls(free, state, ands, wrong, always, one, names)

    def solver(self) -> Solver:
        """A solver that knows the gates."""
        solver = Solver("minisat22", bootstrap_with=[[self.one]])
        for gate, left, right in self.gates:
            solver.append_formula([[-gate, left], [-gate, right], [gate, -left, -right]])
        return solver

    def trace(self, run: Sequence[Sequence[int]]) -> Iterator[set[int]]:
        """The literals that are true in every cycle of ``run``."""
        state: set[int] = set()
        for inputs in run:
            true = {self.one, *inputs, *(each if each in state else -each for each in self.latches)}
            for gate, left, right in self.gates:
                true.add(gate if left in true and right in true else -gate)
            yield true
            state = {latch for latch, after in self.latches.items() if after in true}


class Reachability:
    """What search found of ``circuit``: a ``run`` that breaks it, its inputs by cycle, or else an ``invariant``."""

    def __init__(self, circuit: Circuit) -> None:
        self._circuit, self._solver, self._lifter = circuit, circuit.solver(), circuit.solver()
        self._variables = count(circuit.one + 1)
        self._bad = next(self._variables)
        self._either(self._solver, circuit.bad)
        self._either(self._lifter, circuit.bad)
        self._solver.append_formula([[each] for each in circuit.given])
        self._first = [-each for each in circuit.latches]
        self._frames: list[set[Cube]] = [set(), set()]
        self._acts = [next(self._variables), next(self._variables)]
        self.run: list[list[int]] | None = None
        self.invariant: list[Cube] = []
        while not self._strengthen() and not self._propagate():
            self._frames.append(set())
            self._acts.append(next(self._variables))
        self._check_invariant() if self.run is None else self._check_run(self.run)

    def _either(self, solver: Solver, literals: Iterable[int]) -> None:
        solver.add_clause([-self._bad, *literals])
        solver.append_formula([[self._bad, -each] for each in literals])

    def _reaches(self, frame: int, wanted: Iterable[int], besides: Cube | None = None) -> bool:
        """Whether a state of ``frame``, other than ``besides``, has all that is ``wanted`` in some cycle."""
        assumed = self._first if frame == 0 else self._acts[frame:]
        if besides is None:
            return bool(self._solver.solve([*assumed, *wanted]))
        act = next(self._variables)
        self._solver.add_clause([-act, *(-each for each in besides)])
        answer = bool(self._solver.solve([act, *assumed, *wanted]))
        self._model, self._core = self._solver.get_model(), self._solver.get_core()
        self._solver.add_clause([-act])
        return answer

    def _next(self, cube: Iterable[int]) -> dict[int, int]:
        """What must be true in a cycle such that ``cube`` is, in the next one; each with the literal it is for."""
        latches = self._circuit.latches
        return {latches[each] if each > 0 else -latches[-each]: each for each in cube}

    def _lift(self, model: Sequence[int], wanted: Iterable[int]) -> tuple[Cube, list[int]]:
        """States from which, with the inputs of ``model``, comes what is ``wanted``; and these inputs."""
        circuit, act = self._circuit, next(self._variables)
        inputs = [model[each - 1] for each in circuit.inputs]
        self._lifter.add_clause([-act, *(-each for each in wanted), *(-each for each in circuit.given)])
        latches = {model[each - 1] for each in circuit.latches}
        assert not self._lifter.solve([act, *inputs, *latches])
        core = self._lifter.get_core()
        self._lifter.add_clause([-act])
        return frozenset(latches.intersection(core)), inputs

    def _strengthen(self) -> bool:
        """Keep the last frame away from what is bad; True if there is a run that gets there."""
        last, order = len(self._frames) - 1, count()
        if self._reaches(0, [self._bad]):
            self.run = [self._lift(self._solver.get_model(), [self._bad])[1]]
            return True
        while self._reaches(last, [self._bad]):
            cube, inputs = self._lift(self._solver.get_model(), [self._bad])
            todo = [(last, next(order), cube, [inputs])]
            while todo:
                frame, _, cube, run = heappop(todo)
                if all(each < 0 for each in cube):
                    self.run = run
                    return True
                if any(known <= cube for later in self._frames[frame:] for known in later):
                    continue
                wanted = self._next(cube)
                if self._reaches(frame - 1, wanted, besides=cube):
                    before, inputs = self._lift(self._model, wanted)
                    heappush(todo, (frame - 1, next(order), before, [inputs, *run]))
                    heappush(todo, (frame, next(order), cube, run))
                    continue
                smaller = self._generalize(self._shrunk(cube, wanted), frame - 1)
                while frame < last and not self._reaches(frame, self._next(smaller), besides=smaller):
                    frame += 1
                self._add(smaller, frame)
                if frame < last:
                    heappush(todo, (frame + 1, next(order), cube, run))
        return False

    def _shrunk(self, cube: Cube, wanted: dict[int, int]) -> Cube:
        """What of ``cube`` was needed to find that it is not reached; some of it is not true at first."""
        core = set(self._core or ())
        smaller = frozenset(each for literal, each in wanted.items() if literal in core)
        return smaller if any(each > 0 for each in smaller) else smaller | {next(each for each in cube if each > 0)}

    def _generalize(self, cube: Cube, frame: int) -> Cube:
        for literal in sorted(cube, key=abs):
            smaller = cube - {literal}
            if literal in cube and any(each > 0 for each in smaller):
                wanted = self._next(smaller)
                if not self._reaches(frame, wanted, besides=smaller):
                    cube = self._shrunk(smaller, wanted)
        return cube

    def _add(self, cube: Cube, frame: int) -> None:
        for each in self._frames[1 : frame + 1]:
            each -= {known for known in each if cube <= known}
        self._frames[frame].add(cube)
        self._solver.add_clause([-self._acts[frame], *(-each for each in cube)])

    def _propagate(self) -> bool:
        """Move on what holds a cycle later; True if a frame is like the next one, which makes it an invariant."""
        for frame in range(1, len(self._frames) - 1):
            for cube in list(self._frames[frame]):
                if not self._reaches(frame, self._next(cube)):
                    self._frames[frame].discard(cube)
                    self._add(cube, frame + 1)
            if not self._frames[frame]:
                self.invariant = [cube for later in self._frames[frame + 1 :] for cube in later]
                return True
        return False

    def _check_run(self, run: list[list[int]]) -> None:
        """What is given is true in every cycle, and something is bad in the last one."""
        cycles = list(self._circuit.trace(run))
        assert all(true.issuperset(self._circuit.given) for true in cycles)
        assert not cycles[-1].isdisjoint(self._circuit.bad)

    def _check_invariant(self) -> None:
        """The invariant holds at first, and goes on to hold; with it nothing is bad."""
        solver = self._circuit.solver()
        solver.append_formula([[each] for each in self._circuit.given])
        solver.append_formula([[-each for each in cube] for cube in self.invariant])
        assert all(any(each > 0 for each in cube) for cube in self.invariant)
        assert not any(solver.solve(list(self._next(cube))) for cube in self.invariant)
        assert not any(solver.solve([each]) for each in self._circuit.bad)
