"""Plan of GELU."""

from __future__ import annotations

from step.lowering.plans.vector import plan_by_stages

plan = plan_by_stages(lambda stages: 2 * stages + 5)
"""As any function of scalars: five cycles, and two per stage of `FabricConfig.stages`."""
