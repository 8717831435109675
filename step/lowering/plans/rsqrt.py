"""Plan of square roots and their reciprocals."""

from __future__ import annotations

from step.lowering.plans.vector import plan_by_stages

plan = plan_by_stages(lambda stages: stages + 1, products=1)
"""As `tabulated` says: a cycle more than its stages."""
