"""Amounts as people write them: a number, a prefix, and a unit that fits what is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, log10

from step.errors import InputError, ProgramError, expect

Sizes = Mapping[str, Fraction | int]

PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
"""Prefixes of the SI, by their powers of ten."""

PICO, NANO, MILLI = 1e-12, 1e-9, 1e-3

LARGE: Sizes = {
    **{letter: 10**power for power, letter in PREFIXES.items() if 0 <= power <= 12},
    "K": 1000,
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGT", 1)},
}
ONE: Sizes = {"": 1}
SMALL: Sizes = {letter: Fraction(1, 10**-power) for power, letter in (*PREFIXES.items(), (-6, "u")) if power < 0}
NUMBER = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?)(?: ?([^0-9. ].*))?", re.DOTALL)


@dataclass(frozen=True)
class Quantity:
    """A dimension: the ``units`` that fit it, each so many of that in which numbers are kept.

    ``says``: what a text must be; ``of``: what there can be no part of; ``prefixes`` are those of the units, ``bare``
    those of a number without one.
    """

    says: str
    units: Sizes = field(default_factory=dict)
    of: str | None = None
    bare: Sizes = field(default_factory=lambda: LARGE)
    prefixes: Sizes = field(default_factory=lambda: LARGE)

    def amount(self, text: str, what: str, refused: type[ProgramError] = InputError) -> float:
        """The number that ``text`` says, an integer where it is one; raises ``refused`` of ``what`` for other texts."""
        match = NUMBER.fullmatch(text)
        factor = None if match is None else self._factor(match[2] or "")
        if match is None or factor is None:
            raise refused(f"{what} must be {self.says}, not {text!r}")
        exact = Fraction(match[1]) * factor
        if exact.denominator == 1:
            return int(exact)
        expect(self.of is None, f"{what} must be whole {self.of}, and {text!r} are {float(exact):g}", refused)
        return float(exact)

    def _factor(self, suffix: str) -> Fraction | int | None:
        """Size of one ``suffix``; None: it is no unit of this dimension."""
        if suffix in self.bare:
            return self.bare[suffix]
        for unit, size in self.units.items():
            prefix = suffix.removesuffix(unit)
            if prefix != suffix and prefix in self.prefixes:
                return size * self.prefixes[prefix]
        return None


def counted(of: str) -> Quantity:
    """The dimension of what is counted, and so has no unit, such as ``of`` "cycles"."""
    return Quantity("a number without a unit, such as 300k", of=of)


BYTES = Quantity("a number of B or bit, such as 4Mbit or 500kB", {"B": 1, "bit": Fraction(1, 8)}, of="bytes")
BYTES_A_CYCLE = Quantity(
    "a number of B/cycle or bit/cycle, such as 64 or 512bit/cycle", {"B/cycle": 1, "bit/cycle": Fraction(1, 8)}
)
PICOJOULES = Quantity(
    "a number of J, or of picojoules without a unit, such as 20uJ", {"J": 10**12}, prefixes={**LARGE, **SMALL}
)
MEGAHERTZ = Quantity("a number of Hz, or of MHz without a unit, such as 250MHz", {"Hz": Fraction(1, 10**6)}, bare=ONE)
PERCENT = Quantity("a percentage such as 5%", {"%": 1}, prefixes=ONE, bare=ONE)
DAYS = Quantity("a number of days, such as 30", {"d": 1}, prefixes=ONE, bare=ONE)


def quantity(value: float, unit: str = "") -> str:
    """``value`` with three digits, and ``unit`` with its SI prefix: ``164 MB``, ``1.05 mJ``, ``896``."""
    rounded = float(f"{value:.3g}")
    least = min(PREFIXES) if unit else 0  # a thousandth of nothing is no "m"
    power = min(max(3 * floor(log10(abs(rounded)) / 3), least), max(PREFIXES)) if rounded else 0
    return f"{rounded / 10**power:.3g} {PREFIXES[power]}{unit}".rstrip()


def prefix(most: float) -> tuple[float, str]:
    """The scale to divide values up to ``most`` by, so that they are read well, and the SI prefix of the unit then."""
    scales = ((float(f"1e{power}"), name) for power, name in reversed(PREFIXES.items()))
    return next(((scale, name) for scale, name in scales if most >= scale), (1.0, ""))
