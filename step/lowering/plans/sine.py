"""Plan of sines and cosines."""

from __future__ import annotations

from step.lowering.plans.vector import plan_by_stages

plan = plan_by_stages(lambda stages: 3 + 2 * stages, products=3)
"""As `tabulated` says: three cycles, and two per stage."""
