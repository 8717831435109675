"""The index of errors has every class of errors, under its exit code, every fault, and what warnings say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from step import errors
from step.language.faults import Fault

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text()
FLOORS = ("step", "hw", "sim_approx", "cosim", "step_models", "step_torch")
CHAPTERS = re.findall(r"^## Exit code (\d+): (.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
LISTED = {
    name: int(code)
    for code, text in CHAPTERS
    for names in re.findall(r"^### (.+)$", text, re.MULTILINE)
    for name in names.split(" and ")
}
FAULTS = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)


def classes() -> dict[str, set[str]]:
    """The bases of each class of the floors, by name."""
    found: dict[str, set[str]] = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            text = path.read_text()
            if "Error" in text or "Problem" in text:
                for each in ast.walk(ast.parse(text)):
                    if isinstance(each, ast.ClassDef):
                        bases = {base.id for base in each.bases if isinstance(base, ast.Name)}
                        found.setdefault(each.name, set()).update(bases)
    return found


def toolkit_errors() -> Iterator[str]:
    """`StepError`, and all classes below it."""
    bases, known = classes(), {"StepError"}
    while more := {name for name, above in bases.items() if above & known} - known:
        known |= more
    yield from sorted(known)


@pytest.fixture(scope="module")
def all_errors() -> list[str]:
    return [*toolkit_errors()]


def test_every_class_of_errors_is_in_the_index(all_errors: list[str]) -> None:
    assert len(all_errors) > 20 and sorted(LISTED) == all_errors


def test_exit_codes_are_those_of_the_classes() -> None:
    own = {name: code for name, code in LISTED.items() if hasattr(errors, name)}
    assert len(own) > 15
    assert own == {name: getattr(errors, name).exit_code for name in own}
    others = {name: code for name, code in LISTED.items() if name not in own}
    assert others == {"RuleError": 1, "HardwareError": 1, "NoLibrary": 3, "NotYet": 3}
    assert f"Exit code {errors.INTERRUPTED} is an interruption" in PAGE


def test_every_fault_is_in_the_table_with_its_text() -> None:
    assert [(int(code), text) for code, text, _ in FAULTS] == [(each.value, each.meaning) for each in Fault]


def test_texts_that_the_tables_quote_are_in_the_code() -> None:
    tables = re.findall(r"^\| of a message .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    texts = [text for table in tables for text in re.findall(r"^\| [^`|]*`(.+?)`", table, re.MULTILINE)]
    assert len(tables) == 6 and len(texts) > 20
    code = "".join(path.read_text() for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py")))
    code = re.sub(r'"\s*\n\s*f?"', "", code)  # a string that goes on in the next line
    assert [each for each in texts if each not in code] == []
