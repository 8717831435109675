"""A proof, and the mutants that it refutes: by default a few of them, all with ``-m slow``."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from types import ModuleType
from typing import Any

import pytest
from amaranth.hdl import Elaboratable
from mutants import mutant
from proving import refuted
from rule_mutants import mutants

from hw.rules.words import HardwareError
from step.firing.machine import Machine
from step.firing.terms import RuleError

AS_IT_IS = "as it is"
Mutants = Sequence[tuple[str, str]]
"""Old and new text of each."""
FEW = 1
"""Mutants that the default run refutes, of every proof: they show that it can fail."""

some_or_all_mutants = pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.slow)])
"""Of a test that hands ``thorough`` on to `check_rule`."""


def proofs(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pytest.MarkDecorator:
    """Parameters of a proof per row, which ends with its mutants; slow with all of these, or without any."""
    return pytest.mark.parametrize(tuple(names), [each for row in rows for each in _cases(row)])


def _cases(row: Sequence[Any]) -> Iterator[Any]:
    if hasattr(row, "marks"):  # it is slow itself
        yield row
        return
    *given, mutants = row
    yield pytest.param(*given, _few(mutants), marks=[] if mutants else [pytest.mark.slow])
    if len(mutants) > FEW:
        yield pytest.param(*given, mutants, marks=pytest.mark.slow)


def _few(every: Sequence[Any]) -> list[Any]:
    """`FEW` of them."""
    return list(every[:FEW])


def check(
    module: ModuleType,
    bench: Callable[[Any], Elaboratable],
    mutants: Sequence[tuple[str, str]],
    below: Sequence[ModuleType] = (),
) -> None:
    """``bench`` holds of ``module``, and of none of the ``mutants`` (old and new text), also of modules ``below``."""
    benches = {AS_IT_IS: bench(module)}
    benches |= {f"{old} -> {new}": bench(mutant(module, old, new, below)) for old, new in mutants}
    runs = refuted(benches)
    assert AS_IT_IS not in runs, f"refuted, with what is true by cycle:\n{runs[AS_IT_IS]}"
    wrong = [name for name in benches if name not in runs and name != AS_IT_IS]
    assert wrong == [], f"not refuted: {wrong}"


def check_rule(
    machine: type[Machine],
    bench: Callable[[type[Machine]], Elaboratable],
    unchanged: Mapping[str, str] | None = None,
    *,
    thorough: bool,
) -> None:
    """``bench`` holds of ``machine``, and of none of its mutants of which there is hardware, or of a few of them.

    ``unchanged`` are those by which nothing changes that a bench can see, each with the reason.
    """
    expected = dict(unchanged or {})
    benches = dict(_hardware(machine, bench) if thorough else islice(_hardware(machine, bench, expected), FEW))
    if thorough:
        assert expected.keys() <= benches.keys(), f"no mutants: {sorted(expected.keys() - benches.keys())}"
    benches[AS_IT_IS] = bench(machine)
    runs = refuted(benches)
    assert AS_IT_IS not in runs, f"refuted, with what is true by cycle:\n{runs[AS_IT_IS]}"
    held, wanted = {name for name in benches if name not in runs} - {AS_IT_IS}, benches.keys() & expected
    assert held == wanted, f"not refuted: {sorted(held - wanted)}; refuted: {sorted(wanted - held)}"


def check_rule_on_all(
    machine: type[Machine], benches: Sequence[Callable[[type[Machine]], Elaboratable]], *, thorough: bool
) -> None:
    """All ``benches`` hold of ``machine``, and of each of its mutants, or of a few of them, one of them does not."""
    held: list[set[str]] = []
    for bench in benches:
        tried = dict(_hardware(machine, bench) if thorough else islice(_hardware(machine, bench), FEW))
        runs = refuted(tried | {AS_IT_IS: bench(machine)})
        assert AS_IT_IS not in runs, f"refuted, with what is true by cycle:\n{runs[AS_IT_IS]}"
        held.append(tried.keys() - runs.keys())
    assert set.intersection(*held) == set()


def _hardware(
    machine: type[Machine], bench: Callable[[type[Machine]], Elaboratable], besides: Container[str] = ()
) -> Iterator[tuple[str, Elaboratable]]:
    """The mutants that the reader does not refuse."""
    for name, each in mutants(machine):
        if name not in besides:
            with suppress(HardwareError, RuleError):
                yield name, bench(each)
