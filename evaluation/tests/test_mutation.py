"""The mutants of `benchmarks.mutation`: what is changed in a source, and what is left as it is."""

from __future__ import annotations

import ast

from benchmarks.mutation.mutants import of_source

SOURCE = b'''\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
LIMIT: int = 3  # \xe2\x89\xa4


def most(values: list[int], flag: bool = False) -> int:
    """Docstring."""
    assert values, "1 + 1"
    if not flag and len(values) > LIMIT:
        raise ValueError(f"{len(values) - 1} too many")
    total = max(values) * 2
    values.append(total)
    total += 1
    return total
'''


def test_every_mutant_of_a_source() -> None:
    """Messages, types, assertions and docstrings stay; a name that nothing else gives is not taken away."""
    mutants = list(of_source(SOURCE, "room/most.py"))
    assert [str(each).removeprefix("room/most.py:") for each in mutants] == [
        "5: 3 -> (4)",
        "5: 3 -> (2)",
        "8: False -> (True)",
        "11: not flag and len(values) > LIMIT -> (not (not flag and len(values) > LIMIT))",
        "11: not flag and len(values) > LIMIT -> (not flag or len(values) > LIMIT)",
        "11: len(values) > LIMIT -> (len(values) >= LIMIT)",
        "13: max(values) * 2 -> (max(values) + 2)",
        "13: max(values) -> (min(values))",
        "13: 2 -> (3)",
        "13: 2 -> (1)",
        "14: values.append(total) -> pass",
        "15: total += 1 -> pass",
        "15: 1 -> (2)",
        "15: 1 -> (0)",
        "16: return total -> return",
    ]
    changed = {each.apply(SOURCE) for each in mutants}
    assert len(changed) == len(mutants) and all(ast.parse(each) for each in changed)
