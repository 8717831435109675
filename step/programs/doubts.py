"""Doubts about a program, as warnings of Python."""

from __future__ import annotations

import sys
import warnings

from step.language.graph import Graph
from step.language.location import is_of_user
from step.language.validate import check


class ProgramWarning(UserWarning):
    """A doubtful part of a program: a load that races with a store, a stream that nobody reads.

    `run`, `compare` and `metrics` give the warnings of ``step check``, each with the lines of the program that it is
    about. ``warnings.simplefilter("error", step.ProgramWarning)`` makes errors of these, ``"ignore"`` nothing.
    """


def warn_of(graph: Graph) -> None:
    """A `ProgramWarning` for all that is doubtful in ``graph``, at the line of the user that led here.

    Raises `GraphError` for what is wrong (see `check`).
    """
    for text in check(graph):
        warn(text)


def warn(text: str) -> None:
    """A `ProgramWarning` at the line of the user that led here."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and not is_of_user(frame):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, ProgramWarning, stacklevel=depth)
