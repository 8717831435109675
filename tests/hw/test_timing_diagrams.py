"""Timing diagrams of the documentation are those of the hardware."""

from __future__ import annotations

from pathlib import Path

from timing_diagrams import diagrams

import step

PAGE = Path(step.__file__).parents[1] / "docs" / "units.md"


def test_the_page_has_them() -> None:
    page = PAGE.read_text()
    assert [title for title, text in diagrams().items() if f"```text\n{text}\n```" not in page] == []
