"""Errors of a board."""

from __future__ import annotations


class BoardError(Exception):
    """A call that the driver refuses, or a run that failed."""
