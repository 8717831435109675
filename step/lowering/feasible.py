"""Whether a lowered program fits the fabric; the RTL and the timing model both ask before they begin."""

from __future__ import annotations

import math

from step.errors import FabricError
from step.language.graph import Node
from step.language.types import Buffer, ElementType, Tile, Tuple
from step.lowering.fabric import FabricConfig
from step.lowering.links import item_bits, word_bits
from step.lowering.netlist import Netlist

HIGHEST_RANK = 15
"""Probes and logs have four bits for a stop."""


def check_feasible(netlist: Netlist) -> None:
    """Raise `FabricError`, with operator and source line, for streams that no channel of the fabric can carry."""
    for node in netlist.units:
        _check_node(node, netlist.fabric)


def advice(netlist: Netlist) -> list[str]:
    """What would be as good with less, where the program asks for more than the default."""
    fabric, hints = netlist.fabric, []
    elements = [each.element for each in netlist.channels if each.element is not None]
    needed = max((word_bits(item_bits(each), fabric.link_bytes) for each in elements), default=0)
    least = 1 << (max(8, needed) // 8 - 1).bit_length()
    if fabric.link_bytes > max(least, FabricConfig().link_bytes):
        hints.append(
            f"link_bytes={fabric.link_bytes} is wider than anything that this program sends; "
            f"link_bytes={least} is as fast"
        )
    return hints


def _check_node(node: Node, fabric: FabricConfig) -> None:
    types = {f"input {stream}": stream.type for stream in node.inputs}
    types |= {f"output {node.operator.outputs[port] or port}": each for port, each in enumerate(node.output_types)}
    for where, each in types.items():
        _check_element(each.element, fabric, f"{node.describe()}: {where}")
        if each.rank > HIGHEST_RANK:
            raise FabricError(
                f"{node.describe()}: {where} has rank {each.rank}; the fabric's streams go up to {HIGHEST_RANK}"
            )


def _check_element(element: ElementType, fabric: FabricConfig, where: str) -> None:
    match element:
        case Buffer():
            raise FabricError(f"{where} carries {element}; the fabric has no hardware for buffers yet")
        case Tile() if not element.is_static:
            raise FabricError(
                f"{where} carries {element}, a tile of dynamic size, and a wire has a fixed width; "
                "lower the program to tiles of static size first"
            )
        case Tile() if int(element.elements) > fabric.tile**2:
            least = math.isqrt(int(element.elements) - 1) + 1
            raise FabricError(
                f"{where} carries {element} of {int(element.elements)} scalars, but a token of this fabric carries at "
                f"most {fabric.tile} x {fabric.tile} = {fabric.tile**2}; lower the program to smaller tiles first, or "
                f"choose a fabric with tile={least}"
            )
        case Tuple():
            for item in element.items:
                _check_element(item, fabric, where)
