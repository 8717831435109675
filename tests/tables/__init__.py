"""The pages in docs/, and the stubs of types, that ``PYTHONPATH=tests python -m tables`` writes from the code.

Operators and functions are found by themselves. An operator has an example at the end of its class's docstring; a
function is shown as the largest scenario applies it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tables.api import api_page
from tables.contents import contents_page
from tables.functions import functions_page
from tables.lowerings import lowerings_page
from tables.operators import operators_page
from tables.presets import presets_page
from tables.registers import registers_page
from tables.rooms import rooms_page
from tables.stubs import stubs

DOCS = Path(__file__).parents[2] / "docs"


PAGES: dict[Path, Callable[[], str]] = {
    DOCS / "operators.md": operators_page,
    DOCS / "functions.md": functions_page,
    DOCS / "api.md": api_page,
    DOCS / "presets.md": presets_page,
    DOCS / "registers.md": registers_page,
    DOCS / "rooms.md": rooms_page,
    DOCS / "lowerings.md": lowerings_page,
    DOCS / "contents.md": contents_page,  # of the others, so it is the last one
    **stubs(),
}
"""What makes the text of every page, and of every stub."""
