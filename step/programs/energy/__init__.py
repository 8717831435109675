"""Energy of a program, from what it does and from published figures (docs/energy.md)."""

from __future__ import annotations

from step.programs.energy.model import Energy as Energy
