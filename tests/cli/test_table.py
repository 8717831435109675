"""Tables on a terminal: where it is wide enough for all names, and where names are folded."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from step_cli import console

ROWS = [("load_weights", 1024, "3%", ""), ("up", 7, None, "a long name of another operator")]
TITLE = "a title that is longer than the table below it, which has a few columns and two rows only"


def shown(width: int) -> list[str]:
    """A table of ``ROWS`` on a terminal that is so wide."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "Console", lambda **_: Console(force_terminal=True, no_color=True, width=width))
        text = console.table(TITLE, ("operator", "busy", "share", "waits for"), ROWS, names=("waits for",))
    return [re.sub(r"\x1b\[\d*m", "", line).rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("width", [59, 200])
def test_a_row_is_a_line_where_there_is_room(width: int) -> None:
    assert shown(width) == [
        TITLE,
        "operator       busy  share  waits for",
        "load_weights  1,024     3%",
        "up                7      -  a long name of another operator",
    ]


def test_numbers_that_are_wider_than_a_terminal_are_never_cut() -> None:
    """Their columns stand below each other, each time behind the first ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "Console", lambda **_: Console(width=26, force_terminal=True, no_color=True))
        text = console.table("t", ("", "lanes", *"abcd"), [("*", 4, *[1000] * 4), ("", 8, *[20] * 4)], keys=2)
    assert [re.sub(r"\x1b\[\d*m", "", line).rstrip() for line in text.splitlines()] == [
        "t",
        "   lanes      a      b",
        "*      4  1,000  1,000",
        "       8     20     20",
        "   lanes      c      d",
        "*      4  1,000  1,000",
        "       8     20     20",
    ]


def test_a_name_is_folded_where_there_is_not() -> None:
    assert shown(58) == [
        TITLE,
        "operator       busy  share  waits for",
        "load_weights  1,024     3%",
        "up                7      -  a long name of another",
        "                            operator",
    ]
