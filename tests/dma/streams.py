"""Programs of one stream, and what is in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from hw.links.layout import output_formats
from hw.links.packing import pack_transfers
from step.language.graph import Graph
from step.language.tokens import Token
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs


def netlist_of(element: Any, extents: list[int | None], link: int = 4, beat: int = 8) -> Netlist:
    """A program that hands its source to a sink; extents that are None are ragged, and so may be the rows ``R``."""
    graph = Graph("fed")
    graph.symbol("R", ragged=True)
    dims = [graph.symbol(f"D{at}", ragged=True) if each is None else each for at, each in enumerate(extents)]
    graph.source("x", element, dims).sink("y")
    return lower(graph, FabricConfig(link_bytes=link, memory=MemoryConfig(beat_bytes=beat)))


def tokens_of(netlist: Netlist, data: Any) -> Sequence[Token]:
    """The stream ``x``."""
    tensors = {name: np.zeros(each.shape) for name, each in netlist.graph.tensors.items()}
    return bind_inputs(netlist.graph, {"x": data, **tensors}).streams["x"]


def wanted(netlist: Netlist, data: Any) -> list[int]:
    """The transfers that the simulation gives to the source."""
    node = netlist.graph.nodes["x"]
    tokens = tokens_of(netlist, data)
    element, (format,) = node.output_types[0].element, output_formats(node, netlist)
    return [each for token in tokens for each in pack_transfers(token, element, format)]


def numbers(random: Random, shape: tuple[int, ...]) -> np.ndarray:
    """Integers that every type holds."""
    return np.array([random.randrange(100) for _ in range(math.prod(shape))]).reshape(shape)


def nested(random: Random, extents: list[int | None], tile: tuple[int | None, int]) -> Any:
    """Lists in lists of tiles; what is None is 0 to 3."""
    if not extents:
        rows, cols = tile
        return numbers(random, (random.randrange(4) if rows is None else rows, cols))
    extent = random.randrange(4) if extents[0] is None else extents[0]
    return [nested(random, extents[1:], tile) for _ in range(extent)]
