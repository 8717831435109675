"""What goes wrong."""

from __future__ import annotations


class BoardError(Exception):
    """What the driver refuses, or how a run failed."""
