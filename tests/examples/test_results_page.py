"""The page of results: its table of exact programs has the cycles and tokens of the fast model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim_approx.backend import run
from step import load_program

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
EXACT = PAGE.partition("## Exactness\n")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| `(\w+)`[^|]* \| ([\d,]+) \| ([\d,]+) \|", EXACT, re.MULTILINE)


def test_the_table_has_the_examples() -> None:
    assert len(ROWS) == 7


@pytest.mark.parametrize(("name", "cycles", "tokens"), ROWS)
def test_cycles_and_tokens(name: str, cycles: str, tokens: str) -> None:
    program = load_program(f"examples/{name}.py")
    result = run(program.graph, program.inputs, program.fabric)
    assert (f"{result.cycles:,}", f"{result.tokens:,}") == (cycles, tokens)
