"""The register map for the C driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from step.language.faults import Fault
from step.lowering.fabric import FabricConfig
from step.lowering.registers import IMAGES, MAGIC, VERSION, Register

HEADER = "step_registers.h"


def registers_header(registers: Sequence[Register], fabric: FabricConfig) -> str:
    """``step_registers.h``: addresses and masks of the ``registers`` that all boards have; faults on ``fabric``."""
    lines = ["/* Registers of a board: byte addresses, masks of fields and their lowest bits; faults by code. */"]
    lines += ["#ifndef STEP_REGISTERS_H", "#define STEP_REGISTERS_H", ""]
    lines += [f"#define STEP_MAGIC {MAGIC:#x}u", f"#define STEP_VERSION {VERSION}u", ""]
    for register in registers:
        if register.address < IMAGES:
            lines += _register(register)
    lines += ["", *(f"#define STEP_FAULT_{each.name} {each.value}u" for each in Fault), ""]
    texts = {0: "no fault"} | {each.value: each.meaning.format(fabric=fabric) for each in Fault}
    lines.append("#define STEP_FAULT_TEXTS { \\")
    lines += [f'    "{texts.get(code, "unknown")}", \\' for code in range(max(texts) + 1)]
    return "\n".join([*lines, "}", "", "#endif"]) + "\n"


def _register(register: Register) -> Iterator[str]:
    name = f"STEP_REG_{register.name.upper()}"
    yield f"#define {name} {register.address:#04x}u"
    for field in register.fields:
        if field.name != "value":
            mask = (1 << field.width) - 1 << field.low
            yield f"#define {name}_{field.name.upper()} {mask:#x}u"
            yield f"#define {name}_{field.name.upper()}_LOW {field.low}"
