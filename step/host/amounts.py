"""Amounts as people write them: a number, a prefix, and a unit that fits what is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from step.errors import InputError, ProgramError

LARGE = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12} | {
    f"{letter}i": 1 << 10 * power for power, letter in enumerate("KMGT", 1)
}
SMALL = {"m": Fraction(1, 10**3), "u": Fraction(1, 10**6), "µ": Fraction(1, 10**6), "n": Fraction(1, 10**9)} | {
    "p": Fraction(1, 10**12)
}
NUMBER = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?)(?: ?([^0-9. ].*))?", re.DOTALL)


@dataclass(frozen=True)
class Unit:
    """A dimension: the ``units`` that fit it, each so many of that in which numbers are kept, and without any unit a
    ``plain`` number is so many. ``says``: what a text must be; ``of``: what there can be no part
    of; ``prefixes`` are those of the units."""

    says: str
    units: Mapping[str, Fraction | int] = field(default_factory=dict)
    of: str | None = None
    plain: Fraction | int = 1
    prefixes: Mapping[str, Fraction | int] = field(default_factory=lambda: LARGE)

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
        """How many one of ``suffix`` is; None: it is no unit of this dimension."""
        if suffix in LARGE:  # a plain number may be large, and not small: a thousandth of a count is no "m"
            return self.plain * LARGE[suffix]
        for unit, size in self.units.items():
            prefix = suffix.removesuffix(unit)
            if prefix != suffix and prefix in self.prefixes:
                return size * self.prefixes[prefix]
        return None


def counted(of: str) -> Unit:
    """The dimension of what is counted, and so has no unit, such as ``of`` "cycles"."""
    return Unit("a number without a unit, such as 300k", of=of)


BYTES = Unit("a number of B or bit, such as 4Mbit or 500kB", {"B": 1, "bit": Fraction(1, 8)}, of="bytes")
BYTES_A_CYCLE = Unit(
    "a number of B/cycle or bit/cycle, such as 64 or 512bit/cycle", {"B/cycle": 1, "bit/cycle": Fraction(1, 8)}
)
PICOJOULES = Unit("a number of J, or of picojoules without a unit, such as 20uJ", {"J": 10**12}, prefixes=LARGE | SMALL)
MEGAHERTZ = Unit("a number of Hz, or of MHz without a unit, such as 250MHz", {"Hz": Fraction(1, 10**6)})
PERCENT = Unit("a percentage such as 5%", {"%": 1}, prefixes={"": 1})
DAYS = Unit("a number of days, such as 30", {"d": 1}, prefixes={"": 1})
