"""Plan of SiLU."""

from __future__ import annotations

from step.lowering.plans.vector import plan_by_stages

plan = plan_by_stages(lambda stages: 1 + 2 * stages)
"""A function of scalars like any other: three cycles, cut at the table and behind it, and two per further stage."""
