"""How large what a program asks of a fabric may be, whichever back end runs it."""

from __future__ import annotations

from step.errors import FabricError
from step.language.graph import Graph
from step.language.types import ElementType, Tuple
from step.lowering.fabric import MOST_BITS, FabricConfig


def check_depths(graph: Graph, fabric: FabricConfig) -> None:
    """Raise `FabricError` for a channel that takes more memory than any chip has."""
    for node in graph:
        for port, stream in enumerate(node.inputs):
            depth, width = stream.depth or fabric.channel_depth, _bits(stream.element)
            if depth * width > MOST_BITS:
                raise FabricError(
                    f"{node.describe()}: the channel in front of input {port} ({stream}) has {depth:,} slots, which is "
                    f"{depth * width:,} bits; a channel may have {MOST_BITS:,}, here {MOST_BITS // width:,} slots"
                )


def _bits(element: ElementType) -> int:
    """Bits of a slot, at least one for the header; of a tile of dynamic size it is all that is known."""
    if isinstance(element, Tuple):
        return sum(map(_bits, element.items))
    return max(1, element.bits) if element.is_static else 1
