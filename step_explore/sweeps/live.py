"""The plot of a sweep as its rows come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from step.host.figures import check_picture
from step.host.files import writing
from step.host.paths import named_file
from step_explore.sweeps.plot import check_two, draw_to
from step_explore.sweeps.row import Row

DRAWN_EVERY = 10.0
"""Seconds between two pictures at least."""

SHARE = 20
"""How many times as long as a picture takes nothing is drawn behind it."""


class Live:
    """The picture at ``path`` of what is known so far; None draws nothing.

    Raises what `check_picture` and `check_two` raise, and `InputError` for a file that can not be written.
    """

    def __init__(self, path: Path | str | None, objectives: Sequence[str], title: str, per: Sequence[str] = ()) -> None:
        self._path, self._shown = None if path is None else named_file(path, "a plot"), (objectives, title, per)
        self._next = time.monotonic() + DRAWN_EVERY
        if self._path is not None:
            check_picture(self._path)
            check_two(objectives)
            with writing(self._path):
                pass

    def see(self, rows: Sequence[Row]) -> None:
        """Draw ``rows``, unless a picture was drawn a short while ago."""
        began = time.monotonic()
        if began >= self._next:
            self.end(rows)
            self._next = time.monotonic() + max(DRAWN_EVERY, SHARE * (time.monotonic() - began))

    def end(self, rows: Sequence[Row]) -> None:
        """Draw ``rows``."""
        if self._path is not None:
            draw_to(self._path, rows, *self._shown)
