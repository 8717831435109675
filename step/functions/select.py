"""Functions that make selectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from step.errors import TypeMismatch
from step.language.dtypes import BOOL
from step.language.function import MapFunction, mismatch
from step.language.types import ElementType, Selector, Tile


@dataclass(frozen=True)
class SelectValid(MapFunction):
    """Target 0 for a real element, no target for padding; the input is a padding flag (true: padding). No FLOPs."""

    def result_type(self, *inputs: ElementType) -> Selector:
        if inputs != (Tile(BOOL),):
            raise mismatch(self, f"one padding flag, a {Tile(BOOL)}", inputs)
        return Selector(1)

    def apply(self, value: np.ndarray) -> int:
        return int(not value[0, 0])

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        return sympy.Integer(0)


@dataclass(frozen=True)
class SelectAll(MapFunction):
    """All of ``targets`` targets, whatever the element is. No FLOPs."""

    targets: int

    reads_operands = False

    def result_type(self, *inputs: ElementType) -> Selector:
        if len(inputs) != 1:
            raise mismatch(self, "one element", inputs)
        if isinstance(self.targets, bool) or not isinstance(self.targets, int) or self.targets < 1:
            raise TypeMismatch(f"select_all needs targets to be an integer >= 1, not {self.targets!r}")
        return Selector(self.targets)

    def apply(self, value: Any) -> int:
        return (1 << self.targets) - 1

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        return sympy.Integer(0)
