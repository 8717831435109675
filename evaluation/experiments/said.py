"""Texts of pages: numbers come from results and definitions, and a sentence is said only where results bear it out.

Nobody writes a number into a text: templates have names in its place, and `tests/models/test_said.py` looks for digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill

from step.errors import Defect


def said(text: str, *holds: bool) -> str:
    """``text``, where all that it says ``holds``; raises `Defect` where the results say something else."""
    if not all(holds):
        raise Defect(f"the results do not bear this out: {text}")
    return text


def filled(template: Path, **values: object) -> str:
    """The text of a file with ``values`` for the names in braces."""
    return template.read_text(encoding="utf-8").rstrip().format_map(values)


def laid_out(page: str) -> str:
    """``page`` with prose in lines of at most 120 characters; tables and pictures stay as they are."""
    return "\n".join(line if line.startswith(("|", "!", "#")) else _folded(line) for line in page.split("\n"))


def _folded(line: str) -> str:
    indent = "  " if re.match("[*-] ", line) else ""
    return fill(line, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def nested(part: str) -> str:
    """``part`` of a page, its headings one level down."""
    return re.sub("^#", "##", part.strip(), flags=re.MULTILINE)


def listed(parts: Iterable[object]) -> str:
    """``parts`` as words: one, one and two, or one, two and three."""
    *most, last = map(str, parts)
    return f"{', '.join(most)} and {last}" if most else last


def span(values: Iterable[float], form: str = ".2f") -> str:
    """From the least to the most of ``values``, or the only one as they are shown."""
    found = [format(each, form) for each in sorted(values)]
    return found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"
