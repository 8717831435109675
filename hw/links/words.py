"""Between the words of a link and datapaths that want a whole element at once."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from hw.links.layout import TokenFormat
from hw.primitives.timing import held


def whole(m: Module, name: str, word: Value, phase: Value, format: TokenFormat, last: int) -> Value:
    """An element of one item, of which ``word`` has word ``phase``, in the cycle with the phase ``last``."""
    before = [held(m, word, phase == at, f"{name}_word{at}") for at in range(min(last, format.words))]
    return Cat(*before, *[word] * (last < format.words))[: format.bits]


def in_words(m: Module, element: Value, begins: Value, bits: int) -> Value:
    """The words of ``element``, of ``bits`` each, which is there in the cycle with ``begins`` and need not stay."""
    if len(element) <= bits:
        return element
    rest = Signal(len(element) - bits, name="rest", reset_less=True)
    with m.If(begins):
        m.d.sync += rest.eq(element[bits:])
    with m.Else():
        m.d.sync += rest.eq(rest[bits:])
    word = Signal(bits, name="result_word")
    m.d.comb += word.eq(Mux(begins, element[:bits], rest[:bits]))
    return word
