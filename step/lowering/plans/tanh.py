"""Plan of the hyperbolic tangent."""

from __future__ import annotations

from step.lowering.plans.vector import plan_by_stages

plan = plan_by_stages(lambda stages: 1 + min(2 * stages, 7), products=2)
"""As `tabulated` says: two cycles per stage, at most as many as it has steps, and one."""
