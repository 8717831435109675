"""The edges of a fabric: streams that enter and leave it are AXI4-Stream."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.links.layout import TokenFormat
from hw.links.packing import (
    control_bits,
    header_rows,
    pack_header,
    pack_words,
    unpack_element,
    unpack_header,
    unpack_words,
)
from step.language.tokens import Token
from step.language.types import ElementType


class AxiStreamSignature(wiring.Signature):
    """A stream of tokens in ``format``, as its writer sees it.

    A value is as many transfers as it has words (`TokenFormat.edge_bits` each, in whole bytes), any other token is
    one, as is a tile without rows; ``tlast`` is with the last transfer of a token, ``tuser`` is its header, the same
    all along. The control of a selector is its data here.
    """

    def __init__(self, format: TokenFormat) -> None:
        members = {"tvalid": Out(1), "tlast": Out(1), "tuser": Out(format.header_bits)}
        if format.edge_bits:
            members["tdata"] = Out(data_bits(format))
        super().__init__(members | {"tready": In(1)})


def data_bits(format: TokenFormat) -> int:
    """Width of ``tdata``; 0: there is none."""
    return -(-format.edge_bits // 8) * 8


def pack_transfers(token: Token, element: ElementType, format: TokenFormat) -> list[int]:
    """The transfers of ``token``; each is ``tuser``, above it ``tlast``, above that ``tdata``."""
    header = pack_header(token, format) & ((1 << format.header_bits) - 1)
    words = [0]
    if token.has_value and format.items:
        words = [control_bits(token.value)] if format.control else pack_words(token.value, element, format) or [0]
    lasts = [0] * (len(words) - 1) + [1]
    return [(word << 1 | last) << format.header_bits | header for word, last in zip(words, lasts, strict=True)]


def unpack_transfers(transfers: Iterable[int], element: ElementType, format: TokenFormat) -> list[Token]:
    """The tokens in ``transfers``, as far as they are whole."""
    tokens, words = [], []
    for transfer in transfers:
        header, word = transfer & ((1 << format.header_bits) - 1), transfer >> format.header_bits + 1
        words.append(word)
        if transfer >> format.header_bits & 1:
            value = None
            if header & 2 and format.control:
                value = unpack_element(word, element)
            elif header & 2:
                value = unpack_words(words, element, format, header_rows(header, format))
            tokens.append(unpack_header(header, format, value))
            words = []
    return tokens
