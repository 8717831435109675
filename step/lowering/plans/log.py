"""Plan of the natural logarithm."""

from __future__ import annotations

from step.lowering.plans.vector import plan_by_stages

plan = plan_by_stages(lambda stages: 3 + min(2 * stages, 6), products=2)
"""As `tabulated` says: two cycles per stage, at most six, and three."""
