"""The rows of a sweep as they come, and the file that keeps them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from step.errors import FormatError, InputError
from step.host.files import check_writable, write_atomically
from step.sweeps.axis import Point, Value
from step.sweeps.row import BOUNDED, LOST, Row
from step.sweeps.subject import Subject
from step.sweeps.table import check_format, encode, read

SAVED_EVERY = 2.0
"""Seconds between two writings of the file: what a killed sweep loses at most, beside what was under way."""


class Record:
    """The rows of a sweep of ``subject`` over the parameters ``names``, with those that ``path`` has of an earlier one
    for which the same was ``asked``.

    Used in a ``with``, whatever ends it leaves all rows in the file. Raises `FormatError` for a file of something
    else, `InputError` for one that can not be written.
    """

    def __init__(self, path: Path | None, names: Sequence[str], subject: Subject, asked: str | None = None) -> None:
        self._path, self._names = path, names
        self._saved, self._unsaved = time.monotonic(), 0
        self._rows: dict[tuple[Value, ...], Row] = {}
        if path is None:
            return
        check_format(path)
        self._write_or_complain(lambda: check_writable(path))
        for row in read(path, names):
            _check_asked(path, row.asked, asked)
            if row.status not in (LOST, BOUNDED):
                self._rows[self._key(row.point)] = row
        for row in self.rows:
            if row.digest is not None:
                if subject.at(row.point)[0].made.digest != row.digest:
                    raise FormatError(
                        f"{path} has a sweep of another program, or of this one before it or its data was changed: "
                        "choose another file, or delete it"
                    )
                break

    @property
    def rows(self) -> list[Row]:
        """All of them, in the order in which they came."""
        return list(self._rows.values())

    def row(self, point: Point) -> Row:
        """That of ``point``, which is there."""
        return self._rows[self._key(point)]

    def __contains__(self, point: Point) -> bool:
        return self._key(point) in self._rows

    def add(self, row: Row) -> None:
        """Keep ``row``."""
        self._rows[self._key(row.point)] = row
        self._unsaved += 1
        if time.monotonic() - self._saved > SAVED_EVERY:
            self._save()

    def _key(self, point: Point) -> tuple[Value, ...]:
        return tuple(point[name] for name in self._names)

    def _save(self) -> None:
        path = self._path
        if path is not None and self._unsaved:
            self._write_or_complain(lambda: write_atomically(path, encode(path, self._names, self.rows)))
        self._saved, self._unsaved = time.monotonic(), 0

    def _write_or_complain(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            raise InputError(f"{self._path} can not be written: {error.strerror}") from None

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *error: object) -> None:
        self._save()


def _check_asked(path: Path, theirs: str | None, mine: str | None) -> None:
    """Raise `FormatError` with what is not the same, where something else was asked for."""
    if theirs == mine:
        return
    before, now = ((text or "runs as they are, of step sweep").split("; ") for text in (theirs, mine))
    raise FormatError(
        f"{path} has rows with {'; '.join(each for each in before if each not in now)}, but now there is "
        f"{'; '.join(each for each in now if each not in before)}: choose another file, or delete it"
    )
