"""Plan of GELU."""

from __future__ import annotations

from step.lowering.plans.vector import plan_by_stages

plan = plan_by_stages(lambda stages: 2 * stages + 5, products=3)
"""As `tabulated` says: five cycles, and two per stage."""
