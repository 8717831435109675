"""Modules with parameters: one text for those that differ in numbers only.

How the text depends on the numbers is read from those of samples: where these differ stands the simplest formula that
holds for all of them. A module is an instance if that text, with its own numbers put in, is its own. Samples do not
depend on the design, so a module with parameters is the same in every one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product, repeat

from hw.verilog.modules import Parametric
from hw.verilog.naming import named
from hw.verilog.wording import numbers as comment_of

_NUMBER = re.compile(
    r"(?P<declared>(?:(?<=\bwire )|(?<=\breg ))(?:\[(?P<high>\d+):(?P<low>\d+)\] )?)"
    r"|\[(?P<first>\d+)(?::(?P<last>\d+))?\]|\d+'(?P<base>[dh])(?P<constant>[0-9a-f]+)"
)
_PLACE, _CONSTANT = "\0", "\1"
_WIDTH_MATTERS = re.compile(rf"(?:\{{|\$signed).*{_CONSTANT}")
_LARGEST = 1 << 31
"""Constants without a width are below that."""


@dataclass(frozen=True)
class Generic:
    """The module ``name``, which has parameters: its ``text``, and the ``numbers`` of an instance."""

    name: str
    text: str
    numbers: Mapping[str, int]

    @property
    def instance(self) -> str:
        """Start of the instance."""
        return f"{self.name} #({', '.join(f'.{each}({value})' for each, value in self.numbers.items())})"


class ModuleFamily:
    """The modules that differ from ``samples`` in numbers only; ``texts`` has the Verilog of the samples, by name."""

    def __init__(self, samples: Sequence[Parametric], texts: Mapping[str, str]) -> None:
        stem, (first, *others) = samples[0].stem, [each.parameters for each in samples]
        self._fixed = {name: value for name, value in first.items() if all(each[name] == value for each in others)}
        numbers = [self._numbers(each) for each in samples]
        (self._words, self._first), *rest = (_split(each, texts[each.module_name]) for each in samples)
        assert all(words == self._words for words, _ in rest), f"the samples of {stem} differ in more than numbers"
        known = _known(numbers)
        places = zip(self._first, *(places for _, places in rest), strict=True)
        self._formulas = [_formulas(same, known) for same in places]
        said = [*map(_Numerals.written, self._first, self._formulas), ""]
        text = "".join(f"{words}{place}" for words, place in zip(self._words, said, strict=True))
        assert not _WIDTH_MATTERS.search(text), f"the width of a constant of {stem} matters"
        parameters = ",\n".join(f"  parameter {name} = {value}" for name, value in numbers[0].items())
        self._name = named(stem, samples[0].spell(self._fixed), repr(self._fixed))
        head = f"{comment_of(self._fixed)}module {self._name} #(\n{parameters}\n) ("
        self._text = head + text.replace(_CONSTANT, "")

    def generic(self, component: Parametric, text: str) -> Generic | None:
        """The module of which ``component`` is an instance; none if it is made otherwise than its ``text`` says."""
        if any(component.parameters[name] != value for name, value in self._fixed.items()):
            return None
        numbers = self._numbers(component)
        words, places = _split(component, text)
        same = words == self._words and all(map(_Numerals.agrees, places, self._first, self._formulas, repeat(numbers)))
        return Generic(self._name, self._text, numbers) if same else None

    def _numbers(self, component: Parametric) -> dict[str, int]:
        """Its parameters that are not the same in all samples, as they are called in Verilog."""
        varied = (each for each in component.parameters.items() if each[0] not in self._fixed)
        return {name.removesuffix("_tokens").upper(): value for name, value in varied}


@dataclass(frozen=True)
class _Numerals:
    """Numbers in a text, and how they are ``said``: a range, which a declaration has a space behind; or a constant."""

    kind: str
    numbers: tuple[int, ...]
    said: str

    @classmethod
    def of(cls, match: re.Match[str]) -> _Numerals:
        if match["constant"]:
            return cls("constant", (int(match["constant"], 16 if match["base"] == "h" else 10),), match[0])
        if match["declared"] is not None:
            return cls("declared", (int(match["high"] or 0), int(match["low"] or 0)), match[0])
        return cls("part", (int(match["first"]), int(match["last"] or match["first"])), match[0])

    def written(self, formulas: Sequence[str]) -> str:
        """Its Verilog with ``formulas`` for the numbers, if any."""
        if not formulas:
            return self.said
        if self.kind == "constant":
            return _CONSTANT + (f"({formulas[0]})" if " " in formulas[0] else formulas[0])
        return f"[{':'.join(formulas)}]" + " " * (self.kind == "declared")

    def agrees(self, sample: _Numerals, formulas: Sequence[str], numbers: Mapping[str, int]) -> bool:
        """Whether it is what ``formulas`` make of ``numbers``; or if there are none, that of ``sample``."""
        if not formulas:
            return self.said == sample.said
        expected = tuple(_value(each, numbers) for each in formulas)
        return (self.kind, self.numbers) == (sample.kind, expected) and max(expected) < _LARGEST


def _split(component: Parametric, text: str) -> tuple[list[str], list[_Numerals]]:
    """The Verilog of ``component`` behind its name: what is around numbers, and these."""
    body = text.partition(f"module {component.module_name} (")[2]
    return _NUMBER.sub(_PLACE, body).split(_PLACE), [_Numerals.of(match) for match in _NUMBER.finditer(body)]


def _formulas(places: Sequence[_Numerals], known: Mapping[tuple[int, ...], str]) -> tuple[str, ...]:
    """Formulas of the numbers of one place, which is given of all samples; none where it is the same in all."""
    if all(place.said == places[0].said for place in places):
        return ()
    columns = zip(*(place.numbers for place in places), strict=True)
    return tuple(str(each[0]) if len({*each}) == 1 else known[each] for each in columns)


def _known(numbers: Sequence[Mapping[str, int]]) -> dict[tuple[int, ...], str]:
    """The simplest formula for each of the values that one has for all ``numbers``."""
    found: dict[tuple[int, ...], str] = {}
    for formula in _spelled(list(numbers[0])):
        found.setdefault(tuple(_value(formula, each) for each in numbers), formula)
    return found


def _value(formula: str, numbers: Mapping[str, int]) -> int:
    return int(eval(formula.replace("$", ""), {"clog2": lambda each: (each - 1).bit_length()}, dict(numbers)))


def _spelled(numbers: Sequence[str]) -> Iterator[str]:
    """Formulas of ``numbers`` as in Verilog, the simplest first; what is counted in others stands behind them."""
    above, below = ([f"{each} {change}" for each in numbers] for change in ("+ 1", "- 1"))
    pairs = list(combinations(numbers, 2))
    products = [f"{one} * {other}" for one, other in (*product("23", numbers), *pairs)]
    products += [f"({other} + 1) * {one}" for one, other in pairs]
    yield from (*numbers, *below, *above, *(f"{each} - 2" for each in numbers), *products)
    yield from (f"{each} - 1" for each in products)
    yield from (f"({other} - 1) * {one}" for one, other in pairs)
    logarithms = [f"$clog2({each})" for each in (*numbers, *above, *below, *products)]
    yield from (*logarithms, *(f"{each} - 1" for each in logarithms))
