"""The list of places where something may change: each has a test that there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_place_has_a_test() -> None:
    text = (ROOT / "docs/borders.md").read_text()
    rows = [each for each in text.splitlines() if each.startswith("| ")][1:]
    for row in rows:
        (path, name), *others = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert not others
        functions = {
            each.name for each in ast.parse((ROOT / path).read_text()).body if isinstance(each, ast.FunctionDef)
        }
        assert name in functions, f"{path} has no {name}"
    assert len(rows) > 20
