"""Hardware of the matrix product."""

from __future__ import annotations

from hw.functions.datapath import HARDWARE
from hw.functions.matmul_datapath import MatmulDatapath
from hw.functions.model import MatmulModel
from step.functions.matmul import Matmul

HARDWARE[Matmul] = lambda plan: (MatmulModel if plan.modelled else MatmulDatapath)(plan)
