"""Energy of a program: its activity times figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy

from step.programs.energy.activity import Activity
from step.programs.energy.figures import Figures
from step.programs.tables import table

PARTS: Mapping[str, tuple[str, ...]] = {
    "additions": ("fp32_add", "int32_add"),
    "products": ("bf16_multiply", "fp32_multiply", "int8_multiply", "int32_multiply"),
    "memories": ("lut_ram", "block_ram"),
    "scratchpads": ("scratchpad",),
    "links": ("link",),
    "off_chip": ("off_chip",),
}
"""What the energy is shown by."""


@dataclass(frozen=True, repr=False)
class Energy:
    """Picojoules of ``parts`` by name, from the ``activity`` and ``figures``; expressions, or numbers on data.

    Only what switches: idle cycles, clocks and leakage are left out.
    """

    activity: Activity
    figures: Figures

    @property
    def parts(self) -> dict[str, sympy.Expr]:
        """`PARTS` of it."""
        picojoules = {name: amount * self.figures[name].picojoules for name, amount in self.activity.items()}
        return {part: sympy.Add(*(picojoules.get(name, 0) for name in names)) for part, names in PARTS.items()}

    @property
    def total(self) -> sympy.Expr:
        """All of it, in picojoules."""
        return sympy.Add(*self.parts.values())

    def __repr__(self) -> str:
        total = self.total
        return f"<energy: {float(total):,.0f} pJ>" if total.is_number else f"<energy: {total} pJ>"

    def _repr_html_(self) -> str:
        return table(("part", "energy", "unit"), [(name, value, "pJ") for name, value in self.parts.items()])
