"""Hardware of the matrix product."""

from __future__ import annotations

from hw.functions.datapath import Datapath, made_by
from hw.functions.matmul_datapath import MatmulDatapath
from hw.functions.model import MatmulModel
from step.functions.matmul import Matmul
from step.language.dtypes import BF16
from step.language.function import Function
from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.plan import Application


def datapath(function: Function, application: Application, plan: MatmulPlan) -> Datapath:
    """The datapath for two tiles, on `matmul_lanes` lanes."""
    models = application.fabric.arithmetic == "model" and plan.operands[0].dtype is BF16 and not plan.most_rows
    made: Datapath = made_by({Matmul: MatmulModel if models else MatmulDatapath})(function, application, plan)
    return made
