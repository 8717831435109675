"""Generators of functions that count."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module

from hw.functions.wires import Generator
from step.functions.counting import CountFrom


class CountFromGenerator(Generator, of=CountFrom):
    """``operand0`` plus the index, ``operand1`` times."""

    def outputs(self, m: Module) -> dict[str, Any]:
        return {
            "none": self.operand1 == 0,
            "last": self.index == self.operand1 - 1,
            "result": self.operand0 + self.index,
        }
