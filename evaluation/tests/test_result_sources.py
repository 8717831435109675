"""Sources that the digest of a result sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from experiments import sources
from experiments.sources import meaning, source_digest

CODE = '''"""A module."""

class Unit:
    """What it does."""

    size: int = 3  # words

    def fire(self) -> int:
        """Fires."""
        return self.size + 1
'''


@pytest.mark.parametrize(("before", "after"), [
    ('"""A module."""\n', ""),
    ('"""A module."""', '"""Another text,\n\nof several lines."""'),
    ('    """What it does."""\n', ""),
    ('"""Fires."""', "'''Sends.'''"),
    ("  # words", ""),
    ("class Unit", "# A comment.\n\n\nclass Unit"),
    ("self.size + 1", "(self.size\n                + 1)"),
])  # fmt: skip
def test_words_do_not_change_the_meaning(before: str, after: str) -> None:
    assert before in CODE
    assert meaning(CODE.replace(before, after).encode()) == meaning(CODE.encode())


@pytest.mark.parametrize(("before", "after"), [
    ("size: int = 3", "size: int = 4"), ("self.size + 1", "self.size - 1"), ("self.size + 1", "self.size + '1'"),
    ("return self", 'return "text", self'), ("Unit", "Other"),
])  # fmt: skip
def test_code_does(before: str, after: str) -> None:
    assert before in CODE
    assert meaning(CODE.replace(before, after).encode()) != meaning(CODE.encode())


def test_a_change_throws_away_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of the fast model, or of a file of its own, changes it; words of these and code of others do not."""
    (file := tmp_path / "file.py").write_text(CODE)
    found = list[str]()
    for changed in ("", "sim_approx", "step_cli", "file"):

        def folder(package: str, changed: str = changed) -> Path:
            path = tmp_path / package
            path.mkdir(exist_ok=True)
            (path / "code.py").write_text(f"# {changed}\nchanged = {package == changed}")
            return path

        monkeypatch.setattr(sources, "folder_of", folder)
        file.write_text(CODE.replace("= 3", "= 4") if changed == "file" else f"# {changed}\n{CODE}")
        source_digest.cache_clear()
        found.append(source_digest("fabric", file))
    assert found[0] == found[2] and len(set(found)) == 3


@pytest.mark.parametrize(("result", "module"), [("fabric", "sim_approx.backend"), ("torch", "step_torch.generating")])
def test_results_are_made_of_nothing_else(result: str, module: str) -> None:
    """Imports decide results, but for errors, files, samples and formats of files."""
    code = f"import sys, {module}; print(*(each for each in sys.modules if each.startswith(('step', 'sim_'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    known = (*sources.MADE_OF[result], "step.errors", "step.host", "step_check.samples")
    assert [each for each in done.stdout.split() if not f"{each}.".startswith(tuple(f"{one}." for one in known))] in (
        ["step"],
        [],
    )
