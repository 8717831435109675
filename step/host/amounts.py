"""Amounts as people write them: a number, a prefix, and a unit that fits what is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from step.errors import InputError, ProgramError

Sizes = Mapping[str, Fraction | int]

POWERS = {letter: power for power, letter in enumerate("KMGT", 1)}
LARGE: Sizes = {
    "": 1,
    "k": 1000,
    **{letter: 1000**power for letter, power in POWERS.items()},
    **{f"{letter}i": 1024**power for letter, power in POWERS.items()},
}
ONE: Sizes = {"": 1}
SMALL: Sizes = {letter: Fraction(1, 1000**power) for letter, power in zip("mµunp", (1, 2, 2, 3, 4), strict=True)}
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
        if self.of is not None:
            raise refused(f"{what} must be whole {self.of}, and {text!r} are {float(exact):g}")
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
