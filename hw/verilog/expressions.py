"""Expressions as a person writes them: an operator whose result has no name stands where that is used.

Widths are what to be careful about. A comparison is one bit wherever it stands, and so are bits that are joined; the
low bits of sums and choices are the same in a wider place. Only these are put into others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from hw.verilog.circuit import Bits, Cell, Slice, part_of, width_of

MOST_TERMS = 5
"""Signals and numbers of one expression."""
REPEATED_TERMS = 2
"""Terms of an expression that is written wherever it is used."""
DEEPEST = 50
"""Operators within one another that are looked at."""

UNARY = {"not": "~", "neg": "-", "reduce_or": "|", "reduce_bool": "|", "reduce_and": "&", "reduce_xor": "^"}
BINARY = {
    **{"add": "+", "sub": "-", "mul": "*", "divfloor": "/", "modfloor": "%", "and": "&", "or": "|", "xor": "^"},
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
    **{"shl": "<<", "shr": ">>", "sshr": ">>>", "shift": ">>"},
}
OPERATORS = {*UNARY, *BINARY, "mux"}

_COMPARED = {"==", "!=", "<", "<=", ">", ">="}
_JOINED = {"&", "|", "^"}
_WORDS = {
    **{"==": "is", "!=": "is_not", "<": "below", "<=": "at_most", ">": "above", ">=": "at_least"},
    **{"&": "and", "|": "or", "^": "xor", "+": "plus", "-": "minus", "*": "times", "/": "over", "%": "modulo"},
    **{"<<": "up_by", ">>": "down_by"},
}
_SIGNS = {"~": "not", "&": "all", "|": "any", "^": "parity", "-": "minus"}


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
    """``terms``: signals and numbers in ``text``, whose last operator is ``sign``; ``reads`` are its wires.

    ``words`` say what it is; empty: there are no good ones.
    """

    text: str
    terms: int
    kind: ValueKind
    reads: tuple[str, ...] = ()
    words: str = ""
    sign: str = ""

    @property
    def inside(self) -> str:
        """Its text as an operand."""
        return self.text if not self.sign or (self.sign == "~" and self.terms == 1) else f"({self.text})"


@dataclass
class Expressions:
    """Expressions of a module: of what ``drivers`` drive, by wire, all of them operators.

    ``uses`` counts the places that read a wire, ``plain`` writes a value as it stands. Without ``folded`` all are so.
    """

    drivers: Mapping[str, Cell]
    widths: Mapping[str, int]
    uses: Counter[str]
    plain: Callable[[Bits], Expression]
    folded: bool

    def __post_init__(self) -> None:
        self._known, self._open = dict[tuple[str, int], Expression](), set[tuple[str, int]]()

    def of(self, wire: str, width: int | None = None) -> Expression:
        """The low ``width`` bits of what drives ``wire``, which is an operator; all of them without one."""
        key = wire, width or self.widths[wire]
        if key not in self._known:
            self._open.add(key)
            cell = self.drivers[wire]
            make = self._choice if cell.kind == "mux" else self._unary if cell.kind in UNARY else self._binary
            self._known[key] = make(cell, key[1])
            self._open.discard(key)
        return self._known[key]

    def words(self, wire: str) -> str:
        """What ``wire`` is; nothing for what is no operator or depends on itself."""
        return self.of(wire).words if wire in self.drivers and (wire, self.widths[wire]) not in self._open else ""

    def value(self, bits: Bits) -> Expression:
        """``bits`` where they are assigned to as many."""
        return self._operand(bits, {*ValueKind})

    def condition(self, bits: Bits) -> Expression:
        """``bits``, of which there is one, as a condition."""
        return self._operand(bits, _ONE_BIT)

    def _choice(self, cell: Cell, width: int) -> Expression:
        operands = [(cell.inputs["S"], _ONE_BIT)]
        same = {*ValueKind} - {ValueKind.OTHER}
        operands += [(part_of(cell.inputs[port], 0, width), same) for port in "BA"]
        condition, one, other = self._put(operands)
        text = f"{condition.inside} ? {one.inside} : {other.inside}"
        words = _joined(condition.words, "then", one.words, "else", other.words)
        return _made(text, ValueKind.MODULAR, [condition, one, other], words, "?")

    def _unary(self, cell: Cell, width: int) -> Expression:
        sign, bits = UNARY[cell.kind], cell.inputs["A"]
        narrow = sign == "~" and width_of(bits) == 1
        (operand,) = self._put([(bits, _ONE_BIT if narrow else set())], sign)
        signed = cell.flag("A_SIGNED") and sign == "-"
        inside = f"({operand.text})" if operand.sign else operand.text
        text = f"{sign}$signed({operand.text})" if signed else sign + inside
        kind = ValueKind.TRUTH if cell.kind.startswith("reduce") else ValueKind.MODULAR
        kind = ValueKind.BIT if narrow else ValueKind.OTHER if signed else kind
        return _made(text, kind, [operand], _joined(_SIGNS[sign], operand.words), sign)

    def _binary(self, cell: Cell, width: int) -> Expression:
        sign, operands = BINARY[cell.kind], [cell.inputs["A"], cell.inputs["B"]]
        widest = max(map(width_of, operands))
        operands = [each or ("0" * widest,) * bool(widest) for each in operands]  # both may have no bits
        bits = sign in _JOINED and width == 1 and all(width_of(each) == 1 for each in operands)
        parts = self._put([(each, _ONE_BIT if bits else set()) for each in operands], sign if bits else "")
        signed = [cell.flag("A_SIGNED"), cell.flag("B_SIGNED")]
        assert not (any(signed) and sign in "/%") and not (signed[0] and cell.kind == "shift"), f"signed {cell.kind}"
        first, second = (
            f"$signed({each.text})" if flag else each.text if each.sign == sign in _JOINED else each.inside
            for each, flag in zip(parts, signed, strict=True)
        )
        modular = sign in {"+", "-", "*", *_JOINED} and not any(signed)
        kind = ValueKind.MODULAR if modular else ValueKind.OTHER
        kind = ValueKind.BIT if bits else ValueKind.TRUTH if sign in _COMPARED else kind
        words = _joined(parts[0].words, _WORDS.get(sign, ""), parts[1].words)
        return _made(f"{first} {sign} {second}", kind, parts, words, sign)

    def _put(self, operands: list[tuple[Bits, set[ValueKind]]], sign: str = "") -> list[Expression]:
        """``operands`` of ``sign`` with what may be put in for them, of these kinds."""
        put = [self._operand(*each) for each in operands]
        while sum(each.terms for each in put) > MOST_TERMS and any(each.sign for each in put):
            longest = max(range(len(put)), key=lambda place: (put[place].sign != "", put[place].terms))
            put[longest] = self.plain(operands[longest][0])
        return put

    def _operand(self, bits: Bits, kinds: set[ValueKind]) -> Expression:
        """``bits``, or in their place the expression of a wire without a name, or of its low bits."""
        if len(bits) != 1 or isinstance(bits[0], str) or bits[0].low or not kinds:
            return self.plain(bits)
        wire, width = bits[0].wire, bits[0].width
        folded = self.folded and wire in self.drivers and wire.isdigit() and len(self._open) < DEEPEST
        if not folded or (wire, width) in self._open:
            return self.plain(bits)
        whole = width == self.widths[wire]
        found = self.of(wire, None if whole else width)
        fits = found.kind in kinds if whole else found.kind is ValueKind.MODULAR and ValueKind.MODULAR in kinds
        short = found.terms <= REPEATED_TERMS and found.kind in _ONE_BIT
        return found if fits and (self.uses[wire] == 1 or short) else self.plain(bits)


def _joined(*words: str) -> str:
    """The words side by side; none where any is missing."""
    return "_".join(words) if all(words) else ""


def _made(text: str, kind: ValueKind, parts: list[Expression], words: str, sign: str) -> Expression:
    reads = tuple(dict.fromkeys(each for part in parts for each in part.reads))
    return Expression(text, sum(part.terms for part in parts), kind, reads, words, sign)


def used(found: Expression, reads: dict[str, None], *, inside: bool = False) -> str:
    """The text of an expression that is written, whose wires are noted in ``reads``."""
    reads |= dict.fromkeys(found.reads)
    return found.inside if inside else found.text


def constant(digits: str) -> str:
    """Binary ``digits`` as Verilog has them."""
    return f"{len(digits)}'h{int(digits, 2):x}"


def part_text(part: Slice, width: int) -> str:
    """The range of ``part`` behind a name of a signal of ``width`` bits; nothing for all of it."""
    if part.width == width:
        return ""
    return f"[{part.low}]" if part.width == 1 else f"[{part.low + part.width - 1}:{part.low}]"
