"""Zip, which the artifact does not have: like its other shape operators; no cycles of its own."""

from __future__ import annotations

from sim_published.passing import passing as process

__all__ = ["process"]
