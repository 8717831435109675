"""The register map for the C driver."""

from __future__ import annotations

from collections.abc import Sequence

from cosim.board.constraints import TEXTS
from step.host.texts import filled
from step.language.faults import Fault
from step.lowering.fabric import FabricConfig
from step.lowering.registers import IMAGES, MAGIC, VERSION, Register

HEADER = "step_registers.h"


def registers_header(registers: Sequence[Register], fabric: FabricConfig) -> str:
    """``step_registers.h``: addresses and masks of the ``registers`` that all boards have; faults on ``fabric``."""
    texts = {0: "no fault"} | {each.value: each.meaning.format(fabric=fabric) for each in Fault}
    return filled(
        TEXTS / "step_registers.h.in",
        **{"magic": MAGIC, "version": VERSION, "registers": [each for each in registers if each.address < IMAGES]},
        **{"faults": list(Fault), "texts": [texts.get(code, "unknown") for code in range(max(texts) + 1)]},
    )
