"""Formats of tokens by the bits of their element."""

from __future__ import annotations

from hw.links.layout import TokenFormat
from step.lowering.links import Span


def one_word(rank: int, bits: int, *, control: bool = False) -> TokenFormat:
    """Elements of ``bits`` on a link as wide."""
    return TokenFormat(rank, (bits,), -(-bits // 8) * 8, control)


def words(rank: int, count: int) -> TokenFormat:
    """Elements of ``count`` words of 8 bits."""
    return TokenFormat(rank, (8 * count,), 8)


def rows(rank: int, most: int) -> TokenFormat:
    """Tiles of up to ``most`` rows, each a word of 8 bits."""
    return TokenFormat(rank, (8 * most,), 8, most_rows=most, span=Span(0, (8,), 8))
