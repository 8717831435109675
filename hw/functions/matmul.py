"""Hardware of the matrix product."""

from __future__ import annotations

from hw.functions.datapath import Datapath, no_datapath
from hw.functions.matmul_datapath import MatmulDatapath
from hw.functions.matmul_model import MatmulModel
from hw.functions.matmul_rows import RowsMatmulDatapath
from step.functions.matmul import Matmul
from step.language.dtypes import BF16
from step.language.function import Function
from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.matmul_rows import RowsMatmulPlan
from step.lowering.plans.plan import Application


def datapath(function: Function, application: Application, plan: MatmulPlan) -> Datapath:
    """The datapath for two tiles, on `matmul_lanes` lanes."""
    if not isinstance(function, Matmul):
        raise no_datapath(function)
    if isinstance(plan, RowsMatmulPlan):
        return RowsMatmulDatapath(plan)
    rtl = MatmulDatapath(plan)
    return MatmulModel(rtl) if application.fabric.arithmetic == "model" and plan.operands[0].dtype is BF16 else rtl
