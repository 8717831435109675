"""The rows of a sweep as they come, and the file that keeps them."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from operator import le
from pathlib import Path

from step.errors import FormatError, ProgramError
from step.host.files import write_atomically, writing
from step.running.result import Status
from step_explore.sweeps.axis import Point, Value, named
from step_explore.sweeps.front import costs, values
from step_explore.sweeps.question import Question
from step_explore.sweeps.row import BOUNDED, LOST, REFUSED, Row
from step_explore.sweeps.subject import Subject
from step_explore.sweeps.table import OTHERWISE, check_format, encode, read

SAVED_EVERY = 2.0
"""Seconds between two writings of the file: what a killed sweep loses at most, beside what was under way."""

AGAIN = (LOST, BOUNDED, Status.RUNAWAY)
"""Rows of a file that run again: what ended them may be no more."""

PROGRAM = 32
"""Characters of a digest that are of the program and its data; behind them is its fabric."""

Key = tuple[tuple[bool, Value], ...]


class Record(AbstractContextManager["Record"]):
    """The rows of a sweep of ``subject`` for a ``question``, with those that ``path`` has of an earlier one for which
    the same was ``asked``.

    Rows that the file has of other points stay in it, and are none of the `rows`. A run that took more than
    ``max_cycles`` runs again. Used in a ``with``, whatever ends it leaves all rows in the file, with those that
    another process wrote there meanwhile. Raises `FormatError` for a file of something else, `InputError` for one
    that can not be written.
    """

    def __init__(
        self,
        path: Path | None,
        question: Question,
        subject: Subject,
        asked: str | None = None,
        max_cycles: int | None = None,
    ) -> None:
        self._path, self._question, self._asked = path, question, asked
        self._names = [each.name for each in question.axes]
        self._saved, self._unsaved = time.monotonic(), 0
        self._rows, self._others = dict[Key, Row](), dict[Key, Row]()
        if path is None:
            return
        check_format(path)
        with writing(path):
            self._seen = _version(path)
        there = [{_value(each) for each in axis.values} for axis in question.axes]
        for key, row in self._read(path).items():
            if row.status in AGAIN or (max_cycles and row.cycles and row.cycles > max_cycles):
                continue
            if all(value in values for value, values in zip(key, there, strict=True)):
                self._rows[key] = self._of_tokens(row)
            else:
                self._others[key] = row
        checked = [_check_digest(path, subject, each.values()) for each in (self._rows, self._others)]
        if not any(checked):  # of which program these were refused, nothing says
            self._rows = {key: row for key, row in self._rows.items() if row.status != REFUSED}

    @property
    def rows(self) -> list[Row]:
        """All of them, in the order in which they came."""
        return list(self._rows.values())

    def row(self, point: Point) -> Row:
        """The row of ``point``, which is there."""
        return self._rows[self._key(point)]

    def __contains__(self, point: Point) -> bool:
        return self._key(point) in self._rows

    def add(self, row: Row) -> None:
        """Keep ``row``."""
        self._rows[self._key(row.point)] = self._of_tokens(row)
        self._unsaved += 1
        if time.monotonic() - self._saved > SAVED_EVERY:
            self._save()

    @property
    def best(self) -> str:
        """The best in the first objective so far, for who watches."""
        objective = self._question.objectives[0]
        known = [(cost, row) for row in self.rows if (cost := costs(row, [objective]))]
        if not known:
            return ""
        cost, row = min(known, key=lambda each: each[0])
        return f"; the least {objective}: {cost[0]:,}, {named(row.point)}"

    def beaten(self, bound: Row) -> str | None:
        """The row that takes no more than ``bound`` of any objective and less of one, in words; None: none does."""
        objectives = self._question.objectives
        least = values(bound, objectives)
        for row in self.rows if least is not None else ():
            same = self._question.group(row.point) == self._question.group(bound.point)
            cost = costs(row, objectives) if same else None
            if cost is not None and least is not None and cost != least and all(map(le, cost, least)):
                takes = ", ".join(f"{name} {each:,}" for name, each in zip(objectives, least, strict=True))
                return f"not fitted: with any hardware at least {takes}, of which {named(row.point)} takes no more"
        return None

    def _of_tokens(self, row: Row) -> Row:
        return row.of_tokens(self._question.tokens_at(row.point))

    def _key(self, point: Point) -> Key:
        return tuple(_value(point[name]) for name in self._names)

    def _read(self, path: Path) -> dict[Key, Row]:
        """The rows of the file, each point once."""
        found = dict[Key, Row]()
        for row in read(path, self._names):
            _check_asked(path, row.asked, self._asked)
            before = found.setdefault(self._key(row.point), row)
            if replace(before.of_tokens(row.tokens), seconds=row.seconds) != row:
                raise FormatError(f"{path} has two rows for {named(row.point)} that differ: {OTHERWISE}")
        return found

    def _save(self) -> None:
        if (path := self._path) is not None and self._unsaved:
            with writing(path), _alone(path.resolve().parent):
                if _version(path) != self._seen:  # another process has written rows of its own
                    self._others = self._read(path) | self._others
                rows = [row for key, row in self._others.items() if key not in self._rows]
                write_atomically(path, encode(path, self._names, [*rows, *self.rows]))
                self._seen = _version(path)
        self._saved, self._unsaved = time.monotonic(), 0

    def __exit__(self, *error: object) -> None:
        self._save()


def _value(value: Value) -> tuple[bool, Value]:
    """True and 1 are two values, though they are equal."""
    return isinstance(value, bool), value


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """No other process that does the same is in ``directory`` meanwhile."""
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _version(path: Path) -> tuple[int, int] | None:
    """Another one where the file was written anew."""
    if not path.is_file():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def _check_digest(path: Path, subject: Subject, rows: Iterable[Row]) -> bool:
    """Whether one of the ``rows`` says of which program it is; raises `FormatError` where that is another one."""
    row = next((each for each in rows if each.digest is not None), None)
    if row is None or row.digest is None:
        return False
    try:
        now = subject.digest(row.point)
    except ProgramError:  # it ran when the row was made
        now = ""
    if now == row.digest:
        return True
    if now.startswith(row.digest[:PROGRAM]) and len(row.digest) > PROGRAM:
        raise FormatError(f"{path} has a sweep on another fabric, or with other depths: {OTHERWISE}")
    raise FormatError(
        f"{path} has a sweep of another program, or of this one before it or its data was changed: {OTHERWISE}"
    )


def _check_asked(path: Path, theirs: str | None, mine: str | None) -> None:
    """Raise `FormatError` with what is not the same, where something else was asked for."""
    if theirs == mine:
        return
    before, now = ((text or "runs as they are, of step sweep").split("; ") for text in (theirs, mine))
    raise FormatError(
        f"{path} has rows with {'; '.join(each for each in before if each not in now)}, but now there is "
        f"{'; '.join(each for each in now if each not in before)}: {OTHERWISE}"
    )
