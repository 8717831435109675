"""A proof, and the mutants that it refutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from amaranth.hdl import Elaboratable
from mutants import mutant
from proving import refuted
from rule_mutants import mutants

from hw.rules.words import HardwareError
from step.firing.machine import Machine

AS_IT_IS = "as it is"


def check(module: ModuleType, bench: Callable[[Any], Elaboratable], mutants: Sequence[tuple[str, str]]) -> None:
    """``bench`` holds of ``module``, and of none of the ``mutants`` (old and new text)."""
    benches = {AS_IT_IS: bench(module)}
    benches |= {f"{old} -> {new}": bench(mutant(module, old, new)) for old, new in mutants}
    runs = refuted(benches)
    assert AS_IT_IS not in runs, f"refuted, with what is true by cycle:\n{runs[AS_IT_IS]}"
    wrong = [name for name in benches if name not in runs and name != AS_IT_IS]
    assert wrong == [], f"not refuted: {wrong}"


def check_rule(
    machine: type[Machine], bench: Callable[[type[Machine]], Elaboratable], unchanged: Mapping[str, str] | None = None
) -> None:
    """``bench`` holds of ``machine``, and of none of its mutants of which there is hardware.

    ``unchanged`` are those by which nothing changes that a bench can see, each with the reason.
    """
    benches = {AS_IT_IS: bench(machine)}
    for name, each in mutants(machine):
        try:
            benches[name] = bench(each)
        except HardwareError:
            continue  # the reader refuses it
    expected = dict(unchanged or {})
    assert expected.keys() <= benches.keys(), f"no mutants: {sorted(expected.keys() - benches.keys())}"
    runs = refuted(benches)
    assert AS_IT_IS not in runs, f"refuted, with what is true by cycle:\n{runs[AS_IT_IS]}"
    held, wanted = {name for name in benches if name not in runs} - {AS_IT_IS}, expected.keys()
    assert held == wanted, f"not refuted: {sorted(held - wanted)}; refuted: {sorted(wanted - held)}"
