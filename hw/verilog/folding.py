"""Expressions as a person writes them: what Yosys has in a wire for each operator stands where it is used.

Widths are what to be careful about. A comparison is one bit wherever it stands, and so are bits that are joined; the
low bits of sums and choices are the same in a wider place. Only these are put into others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

TEMPORARY = re.compile(r"\b(?:n\d+|_\d+_)\b(?!')")
"""Names of wires that nobody has named."""

MOST_TERMS = 5
"""Signals and numbers of one expression."""
REPEATED_TERMS = 2
"""Terms of an expression that is written wherever it is used."""

_ATOM = r"\w+(?:\[[^][]+\])?|\d+'[hdb][0-9a-fxz]+|\{[^{}]*\}"
UNARY = re.compile(rf"(~\^|[~!&|^-]) ({_ATOM})")
BINARY = re.compile(rf"({_ATOM}) ([^\s\w?]+) ({_ATOM})")
CHOICE = re.compile(rf"({_ATOM}) \? ({_ATOM}) : ({_ATOM})")
_LOW = re.compile(r"(\w+)\[(?:\d+:)?0\]")
_CONDITION = re.compile(r"(?<=\bif \()\w+(?=\) begin$)", re.MULTILINE)
_VALUE = re.compile(r"(?<== )\w+(?:\[(?:\d+:)?0\])?(?=;$)", re.MULTILINE)
_PLAIN = re.compile(r"\w+(?:\[\d+\])?")
_COMPARED = {"==", "!=", "<", "<=", ">", ">="}
_JOINED = {"&", "|", "^"}


class ValueKind(Enum):
    """Kind of an expression: ``TRUTH`` is one bit anywhere, ``BIT`` one of one-bit operands, ``MODULAR`` has the same
    low bits in a wider place."""

    TRUTH = auto()
    BIT = auto()
    MODULAR = auto()
    OTHER = auto()


_ONE_BIT = {ValueKind.TRUTH, ValueKind.BIT}


@dataclass(frozen=True)
class Expression:
    """``terms``: signals and numbers in ``text``, whose last operator is ``sign``."""

    text: str
    terms: int
    kind: ValueKind
    sign: str = ""


class WireFolding:
    """Expressions for the temporaries that ``assigned`` has, of which the rest of a module makes ``uses``.

    ``widths`` of all signals are as they are declared, ``""`` for one bit; memories have none.
    """

    def __init__(self, assigned: Mapping[str, str], widths: Mapping[str, str], uses: Counter[str]) -> None:
        self._assigned, self._widths, self._uses = assigned, widths, uses
        self._known: dict[str, Expression] = {}

    def of(self, name: str) -> Expression:
        """The expression of the temporary ``name``."""
        if name not in self._known:
            self._known[name] = self.expression(self._assigned[name], self._widths.get(name, ""))
        return self._known[name]

    def expression(self, text: str, width: str) -> Expression:
        """The value ``text`` of a signal of ``width`` with others put in."""
        if found := CHOICE.fullmatch(text):
            parts = self._put([(found[1], _ONE_BIT, ""), *((each, None, width) for each in found.group(2, 3))])
            return Expression("{} ? {} : {}".format(*(each.text for each in parts)), _terms(parts), ValueKind.MODULAR)
        if found := UNARY.fullmatch(text):
            sign, operand = found.groups()
            narrow = sign in "!~" and self._is_bit(operand)
            parts = self._put([(operand, _ONE_BIT if narrow else set(), "")], sign)
            kind = ValueKind.MODULAR if sign in "~-" else ValueKind.TRUTH
            return Expression(
                sign + parts[0].text,
                _terms(parts),
                ValueKind.BIT if sign == "~" and narrow else kind,
                sign if sign in "~!" else "",
            )
        if found := BINARY.fullmatch(text):
            first, sign, second = found.groups()
            bits = sign in _JOINED and not width and self._is_bit(first) and self._is_bit(second)
            inside = _ONE_BIT if bits or sign in ("&&", "||") else set[ValueKind]()
            parts = self._put([(first, inside, ""), (second, inside, "")], sign if bits else "")
            truth, modular = sign in {*_COMPARED, "&&", "||"}, sign in {"+", "-", "*", *_JOINED}
            kind = (
                ValueKind.BIT
                if bits
                else ValueKind.TRUTH
                if truth
                else ValueKind.MODULAR
                if modular
                else ValueKind.OTHER
            )
            return Expression(f"{parts[0].text} {sign} {parts[1].text}", _terms(parts), kind, sign)
        return Expression(text, len(re.findall(r"[\w'\[:\]]+", text)), ValueKind.OTHER)

    def _put(self, operands: list[tuple[str, set[ValueKind] | None, str]], sign: str = "") -> list[Expression]:
        """Operands of ``sign`` with what may be put in for them: of the kinds, or (None) all that is as wide."""
        put = [self._operand(*each, sign) for each in operands]
        while _terms(put) > MOST_TERMS and any(each.terms > 1 for each in put):
            longest = max(range(len(put)), key=lambda place: put[place].terms)
            put[longest] = Expression(operands[longest][0], 1, ValueKind.OTHER)
        return put

    def _operand(self, text: str, kinds: set[ValueKind] | None, width: str, sign: str = "") -> Expression:
        itself = Expression(text, 1, ValueKind.OTHER)
        if text not in self._assigned or "$signed" in self._assigned[text]:
            return itself
        found = self.of(text)
        wanted = found.kind in kinds if kinds is not None else self._widths.get(text) == width
        if not wanted or not self._goes(text, found) or (kinds is None and found.kind is ValueKind.OTHER):
            return itself
        plain = found.sign in ("~", "!") and _PLAIN.fullmatch(found.text[1:]) and sign not in ("~", "!")
        text = found.text if plain or found.sign == sign in _JOINED else f"({found.text})"
        return Expression(text, found.terms, found.kind)

    def _goes(self, name: str, found: Expression) -> bool:
        """Whether the expression ``found`` of ``name`` may stand where that is used."""
        return self._uses[name] == 1 or (found.terms <= REPEATED_TERMS and found.kind in _ONE_BIT)

    def _is_bit(self, operand: str) -> bool:
        if "'" in operand:
            return operand.startswith("1'")
        name, select, place = operand.partition("[")
        return name in self._widths and (":" not in place if select else not self._widths[name])

    def in_block(self, text: str) -> str:
        """Lines of an instance or a process, with conditions and values put in."""

        def condition(match: re.Match[str]) -> str:
            name = match[0]
            whole = name in self._assigned and (found := self.of(name)).kind in _ONE_BIT and self._goes(name, found)
            return found.text if whole else name

        return _VALUE.sub(lambda match: self.value(match[0]), _CONDITION.sub(condition, text))

    def value(self, text: str) -> str:
        """The value in place of ``text``: an expression for a temporary that is used once, or for its low bits."""
        name = text.partition("[")[0]
        if name not in self._assigned or self._uses[name] != 1 or "$signed" in self._assigned[name]:
            return text
        found = self.of(name)
        low = _LOW.fullmatch(text) is not None and found.kind is ValueKind.MODULAR
        if low:  # constants of choices are as wide as what is assigned
            bits = int(text.partition("[")[2].partition(":")[0].removesuffix("]")) + 1
            return re.sub(r"\b\d+'h0\b(?= :|$)", f"{bits}'h0", found.text)
        return found.text if text == name else text


def _terms(parts: list[Expression]) -> int:
    return sum(each.terms for each in parts)
