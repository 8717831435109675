"""The matrix product in C++."""

from __future__ import annotations

from hw.functions.matmul_datapath import MatmulDatapath
from hw.functions.model import DatapathModel


class MatmulModel(DatapathModel):
    """The simulation-only matrix product."""

    imported = (
        "step_matmul(input int rows, input int inner, input int cols, input int transposed, input int terms,"
        " input int keep, input int width, input bit [31:0] first[], input bit [31:0] second[],"
        " inout bit [31:0] result[])"
    )

    def __init__(self, rtl: MatmulDatapath) -> None:
        super().__init__(rtl, [each.beats for each in rtl.plan.operands], rtl.plan.result.beats)
        self.rtl: MatmulDatapath = rtl

    @property
    def call(self) -> str:
        plan, shape = self.rtl.plan, self.rtl.plan.arrangement
        keep = "32'(!first_now)" if plan.reduce else "0"
        return (
            f"step_matmul({shape.rows}, {plan.operands[0].cols}, {shape.cols}, {int(plan.transposed)}, {plan.terms},"
            f" {keep}, {plan.result.dtype.bits}, operand0_words, operand1_words, result_words)"
        )
