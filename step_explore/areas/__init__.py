"""The area of a program on an FPGA, by formulas that are fast enough for a search (docs/areas.md)."""

from __future__ import annotations

from step_explore.areas.model import Area, area_of
from step_explore.areas.parts import parts_of

__all__ = ["Area", "area_of", "parts_of"]
