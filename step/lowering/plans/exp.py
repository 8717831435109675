"""Plan of the exponential."""

from __future__ import annotations

from step.lowering.plans.vector import plan_by_stages

plan = plan_by_stages(lambda stages: stages + 3, products=2, joined=1)
"""As `tabulated` says: three cycles more than its stages."""
