"""Numbers as tables show them."""

from __future__ import annotations

from cases import cases

from step.host.amounts import quantity


@cases(
    (0, "B", "0 B"), (7, "", "7"), (0.8888, "", "0.889"), (999.4, "B", "999 B"), (999.6, "B", "1 kB"),
    (163_741_700, "B", "164 MB"),
    (1.05e-3, "J", "1.05 mJ"), (9.996e-7, "J", "1 µJ"), (3e-15, "J", "0.003 pJ"), (-2_500, "B", "-2.5 kB"),
    (4e19, "B", "4e+04 PB"),
)  # fmt: skip
def test_three_digits_and_a_unit(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text
