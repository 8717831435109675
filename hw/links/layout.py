"""The bits of a token on a wire, and of tiles in off-chip memory.

A token is a header and, if it has a value, words of data. The header is, from the lowest bit: ``done``, ``value``,
``stop`` and ``rank`` (each as many bits as the stream's rank needs, at least one); the rank is that of an empty, else
zero; of tiles of dynamic size there are the ``rows``. Values on which rules decide, selectors and addresses, travel in
the header as well, as ``control``. All others follow their header one cycle behind it, a word a cycle (see
`step.lowering.links`), a tile of dynamic size in as many words as its rows take, maybe none. A tile is row-major, its
first scalar lowest; the items of a tuple follow one another; a selector is its mask. Data of a token without a value
means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from step.language.graph import Node
from step.language.types import ElementType, is_dynamic, with_rows
from step.lowering.fabric import FabricConfig
from step.lowering.links import Span, item_bits, rows_bits, stop_bits, words
from step.lowering.netlist import Channel, Netlist
from step.lowering.plans.rows import largest
from step.lowering.plans.rows import word_bits as widest_word


@dataclass(frozen=True)
class TokenFormat:
    """All that hardware needs to know of a stream: its rank, the bits of an element's items, and if they are control.

    Without items there is only the header; ``link_bits`` is the width of the link. Tiles of dynamic size, and tuples
    with such ones, which have as many rows as each other, have ``most_rows`` (0: there are none): so have the items,
    and ``span`` are their words.
    """

    rank: int
    items: tuple[int, ...]
    link_bits: int
    control: bool = False
    most_rows: int = 0
    span: Span = field(default_factory=Span)
    bound: ClassVar[int] = 0

    @classmethod
    def of(cls, channel: Channel, fabric: FabricConfig) -> TokenFormat:
        """The format of ``channel``."""
        return cls.element(channel.type.rank, channel.element, fabric)

    @classmethod
    def element(cls, rank: int, element: ElementType | None, fabric: FabricConfig) -> TokenFormat:
        """Elements, or None, in a stream of ``rank``."""
        link, rows = 8 * fabric.link_bytes, fabric.dynamic_rows
        if element is None:
            return cls(rank, (), link)
        if is_dynamic(element):
            span = Span.of((element,), fabric.link_bytes)
            return cls(rank, item_bits(with_rows(element, rows)), link, most_rows=rows, span=span)
        return cls(rank, item_bits(element), link, element.is_control)

    def __str__(self) -> str:
        if not self.items:
            return f"rank {self.rank}, headers only"
        bits = " + ".join(map(str, self.items))
        if self.control:
            return f"rank {self.rank}, values of {bits} bits in the header"
        words = "1 word" if self.words == 1 else f"{self.words} words"
        rows = f", at most {self.most_rows} rows" if self.most_rows else ""
        return f"rank {self.rank}, values of {bits} bits in {words} of {self.word_bits} bits{rows}"

    @property
    def is_plain(self) -> bool:
        """Whether bits and rank say all, as they do in names of modules."""
        return not self.most_rows

    @property
    def row_bits(self) -> int:
        """Bits of a row of a tile of dynamic size."""
        (row,) = self.span.rows
        return row

    @property
    def rows_bits(self) -> int:
        """Bits of the field of the header for its rows."""
        return rows_bits(self.most_rows) if self.most_rows else 0

    @property
    def stop_bits(self) -> int:
        return stop_bits(self.rank)

    @property
    def header_bits(self) -> int:
        """Bits of a header without control."""
        return 2 + 2 * self.stop_bits + self.rows_bits

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return sum(self.items)

    @property
    def header(self) -> data.StructLayout:
        fields = {"done": 1, "value": 1, "stop": self.stop_bits, "rank": self.stop_bits}
        fields |= {"control": self.bits} if self.control else {}
        return data.StructLayout(fields | ({"rows": self.rows_bits} if self.most_rows else {}))

    @property
    def word_bits(self) -> int:
        return 0 if self.control else widest_word(self.items, self.link_bits)

    @property
    def item_words(self) -> tuple[int, ...]:
        """Words of each item."""
        return () if self.control else words(self.items, self.link_bits)

    @property
    def words(self) -> int:
        return sum(self.item_words)

    @property
    def edge_bits(self) -> int:
        """Data bits of a transfer at the edge of the fabric, where control is data too."""
        return self.bits if self.control else self.word_bits

    @property
    def cycles(self) -> int:
        """Cycles that a value takes on the link, with the most rows."""
        return max(1, self.words)

    def words_of(self, rows: Any) -> Any:
        """Words of a value; of a tile of dynamic size with so many ``rows``: a number, or hardware."""
        return self.span.at(rows) if self.most_rows else self.words


@dataclass(frozen=True)
class BoundedFormat(TokenFormat):
    """Tokens whose channel tells the reader of control that is not below ``bound``."""

    bound: int = 1  # type: ignore[misc]


def cycles_of(format: TokenFormat, header: Any) -> Any:
    """Cycles that the value with ``header`` takes on a link of ``format``."""
    return largest(1, format.words_of(header.rows)) if format.most_rows else format.cycles


def read_format(channel: Channel, netlist: Netlist) -> TokenFormat:
    """The format of ``channel`` where it is read, with a bound where wires are long: it takes a part of the cycle."""
    reader, port = channel.consumer
    node = netlist.graph.nodes[reader]
    format, bound = TokenFormat.of(channel, netlist.at(node)), node.operator.below.get(port)
    return format if bound is None or not is_far(netlist) else BoundedFormat(**vars(format), bound=bound)


def input_formats(node: Node, netlist: Netlist) -> tuple[TokenFormat, ...]:
    """Formats at the inputs of ``node``."""
    return tuple(read_format(each, netlist) for each in netlist.inputs(node))


def output_formats(node: Node, netlist: Netlist) -> tuple[TokenFormat, ...]:
    """Formats at the outputs of ``node``; only headers where nobody reads."""
    fabric = netlist.at(node)
    return tuple(
        TokenFormat.element(stream.rank, None, fabric) if channel is None else TokenFormat.of(channel, fabric)
        for stream, channel in zip(node.output_types, netlist.outputs(node), strict=True)
    )


@dataclass(frozen=True)
class TileFormat:
    """The words of a tile alone."""

    word_bits: int
    words: int
    most_rows: ClassVar[int] = 0
    bound: ClassVar[int] = 0
    header: ClassVar = data.StructLayout({})


@dataclass(frozen=True)
class HeaderFormat:
    """The headers of ``token`` alone: its words go another way."""

    token: TokenFormat
    word_bits = words = most_rows = bound = 0

    @property
    def header(self) -> data.StructLayout:
        return self.token.header


@dataclass(frozen=True)
class WriteFormat:
    """A beat on its way to off-chip memory: the address (in beats), and ``bits`` of data beside it."""

    bits: int
    word_bits = words = most_rows = bound = 0

    @property
    def header(self) -> data.StructLayout:
        return data.StructLayout({"address": 32, "data": self.bits})


@dataclass(frozen=True)
class AddressFormat:
    """The address (in beats) of a tile to read, which is control alone."""

    rank = word_bits = words = most_rows = bound = 0
    bits, control = 32, True
    items = (bits,)
    header = data.StructLayout({"control": bits})


Format = TokenFormat | TileFormat | HeaderFormat | WriteFormat | AddressFormat
"""Formats that a channel may carry: the fields of a ``header``, and ``words`` of a value, of ``word_bits`` each, that
follow one cycle behind it; there are none where these are 0."""


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


def is_far(netlist: Netlist) -> bool:
    """Whether parts may be far from each other: some channel has hops."""
    return any(each.hops for each in netlist.channels)
