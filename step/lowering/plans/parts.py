"""Parts that datapaths are made of: the hardware is built of them, and areas are sums over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from step.language.dtypes import BF16, FP32, DType


@dataclass(frozen=True)
class Parts:
    """An element as ``count`` parts of ``bits`` bits."""

    count: int
    bits: int


@dataclass(frozen=True)
class Store:
    """A part of a datapath: ``copies`` elements that come as parts of one width and leave as parts of another.

    They lie in memories where as many of the narrower ones as fit make a wider one. Where parts lie in any other way,
    or are used more than once, elements lie in registers from which they are ``picked``.
    """

    written: Parts
    read: Parts
    copies: int = 1
    picked: bool = False

    @property
    def narrow(self) -> Parts:
        """The narrower parts."""
        return self.written if self.written.bits <= self.read.bits else self.read

    @property
    def wide(self) -> Parts:
        """The wider parts, of which each is a row."""
        return self.read if self.written.bits <= self.read.bits else self.written

    @property
    def ratio(self) -> int:
        """Narrower parts in a row."""
        return self.narrow.count if self.wide.count == 1 else self.wide.bits // self.narrow.bits

    @property
    def banks(self) -> int:
        """Memories side by side, of what is written; each has a place for every row."""
        return self.ratio if self.written is self.narrow else 1

    @property
    def places(self) -> int:
        return self.copies * self.wide.count


@dataclass(frozen=True)
class Memory:
    """``banks`` memories of ``places`` items of ``bits`` bits each, in block RAM if they are ``deep``.

    So many items as there are ``ports`` leave at a time, also in another order than they came.
    """

    bits: int
    places: int
    banks: int = 1
    ports: int = 1
    deep: bool = False


@dataclass(frozen=True)
class Circuit:
    """``count`` times what is called ``kind``: a `computation`, or wires, registers and counters by their
    ``amounts``."""

    kind: str
    count: int = 1
    amounts: Mapping[str, int] = field(default_factory=dict)


Part = Store | Memory | Circuit


def computation(name: str, *formats: DType) -> str:
    """The kind of a piece of arithmetic, on the widest of ``formats``; of integers only the bits count."""
    widest = max(formats, key=lambda each: each.bits)
    return f"{name}.{widest if widest.is_float else f'INT{widest.bits}'}"


def product(*formats: DType) -> str:
    """The `computation` of a product; one of BF16 and FP32 is a kind of its own, of half the multipliers."""
    return "multiply.BF16_FP32" if {*formats} == {BF16, FP32} else computation("multiply", *formats)
