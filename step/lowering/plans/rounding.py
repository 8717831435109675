"""Plan of numbers without their fraction."""

from __future__ import annotations

from step.lowering.plans.vector import plan_by_stages

plan = plan_by_stages(lambda stages: min(stages, 2))
"""As any function of scalars: a cycle, or two."""
