"""A proof, and the mutants that it refutes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from amaranth.hdl import Elaboratable
from mutants import mutant
from proving import refuted

AS_IT_IS = "as it is"


def check(module: ModuleType, bench: Callable[[Any], Elaboratable], mutants: Sequence[tuple[str, str]]) -> None:
    """``bench`` holds of ``module``, and of none of the ``mutants`` (old and new text)."""
    benches = {AS_IT_IS: bench(module)}
    benches |= {f"{old} -> {new}": bench(mutant(module, old, new)) for old, new in mutants}
    runs = refuted(benches)
    assert AS_IT_IS not in runs, f"refuted, with what is true by cycle:\n{runs[AS_IT_IS]}"
    wrong = [name for name in benches if name not in runs and name != AS_IT_IS]
    assert wrong == [], f"not refuted: {wrong}"
