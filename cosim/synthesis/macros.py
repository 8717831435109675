"""SRAM macros of an ASIC, as black boxes: their geometry, area and timing, as a file states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from step.errors import FormatError, expect
from step.host.texts import filled
from step.language.parameters import Within, settled
from step.programs.files.json_file import JsonFile

TEXTS = Path(__file__).parent / "text"


@dataclass(frozen=True)
class Macro:
    """SRAM of so many ``words`` of ``bits``, with a port to write and one to read, both with a clock.

    ``area``: square micrometres.
    ``setup``: nanoseconds by which all inputs come before the clock's edge.
    ``clock_to_q``: nanoseconds from there to the word that is read.
    ``capacitance``: picofarads of an input.
    """

    name: str
    words: int
    bits: int
    area: float
    setup: float
    clock_to_q: float
    capacitance: float

    @property
    def size(self) -> int:
        """Bits of all words."""
        return self.words * self.bits

    @property
    def address_bits(self) -> int:
        """Bits of an address."""
        return (self.words - 1).bit_length()

    @property
    def pins(self) -> Mapping[str, int]:
        """Widths of its inputs besides clocks, by the names that Yosys has for them and the ports that they are of."""
        address = self.address_bits
        return {"W_ADDR": address, "W_WR_DATA": self.bits, "W_WR_EN": 1, "R_ADDR": address, "R_RD_EN": 1}


@dataclass(frozen=True)
class Macros(JsonFile):
    """SRAM that there is, as the file of ``step synth --macros`` says.

    Raises `FormatError` for names that are there twice, and for numbers of words that are no powers of two.
    """

    schema: ClassVar = "macros"
    noun: ClassVar = "a file of macros"

    macros: tuple[Macro, ...]

    def __post_init__(self) -> None:
        names = [each.name for each in self.macros]
        for at, each in enumerate(self.macros):
            expect(names.index(each.name) == at, f"macros[{at}]: there are two called {each.name}", FormatError)
            settled(each.words, Annotated[int, Within(2, 1 << 24, power=True)], f"macros[{at}].words", FormatError)

    @classmethod
    def _of_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(tuple(Macro(**each) for each in data["macros"]))

    @property
    def rules(self) -> str:
        """The file of ``memory_libmap`` of Yosys, by which memories become instances; the least area is best."""
        return filled(TEXTS / "macros.txt.in", macros=self.macros)

    @property
    def liberty(self) -> str:
        """Area and timing as a Liberty file, for Yosys and OpenSTA."""
        return filled(TEXTS / "macros.lib.in", macros=self.macros)
