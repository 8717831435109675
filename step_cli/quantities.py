"""Numbers as people read them in tables: three digits and a unit."""

from __future__ import annotations

from math import floor, log10

PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}


def quantity(value: float, unit: str = "") -> str:
    """``value`` with three digits, and ``unit`` with its SI prefix: ``164 MB``, ``1.05 mJ``, ``896``."""
    rounded = float(f"{value:.3g}")
    least = min(PREFIXES) if unit else 0  # a thousandth of nothing is no "m"
    power = min(max(3 * floor(log10(abs(rounded)) / 3), least), max(PREFIXES)) if rounded else 0
    digits = f"{rounded / 10**power:.3g}"
    return f"{digits} {PREFIXES[power]}{unit}".rstrip()
