"""From the memory of a board after a run to the outputs of the program."""

from __future__ import annotations

from collections.abc import Mapping

from cosim.board.tables import Tables, TensorTable
from hw.dma.images import sink_tokens
from hw.links.layout import input_formats
from hw.links.packing import unpack_tiles
from step.language.tiling import TiledTensor
from step.language.tokens import Token, from_nested
from step.programs.data.stored import as_output


def outputs_of(tables: Tables, images: Mapping[str, bytes]) -> dict[str, list[Token]]:
    """Tokens of sinks, tiles that were stored, and declared tensors that were, in the order of the units; without Done.

    A store of any number of tiles is left out: a board does not say how many there were.
    """
    found: dict[str, list[Token]] = {}
    for node in tables.netlist.units:
        for stream in tables.streams:
            if stream.node is node and not stream.stream.is_source:
                (format,) = input_formats(node, tables.netlist)
                parts = {part: images.get(f"{stream.name}_{part}", b"") for part in ("values", "list")}
                tokens = sink_tokens(parts, stream.element, stream.stream.plan, format)
                found[stream.name] = [each for each in tokens if not each.done]
        for tensor in tables.tensors:
            if tensor.node is node and tensor.outer:
                found[tensor.name] = _stored(tables, tensor, images)
    return found


def _stored(tables: Tables, tensor: TensorTable, images: Mapping[str, bytes]) -> list[Token]:
    board, access = tables.design.board, tensor.access
    image, size = board.images[tensor.tilings[0].image].name, tensor.tilings[0].tile_bytes
    content = images[image]
    if access.tensor is not None:
        tiling = TiledTensor(tables.netlist.graph.tensors[access.tensor], access.tile.shape)
        content = content[: tiling.count * size].ljust(tiling.count * size, b"\0")
        return as_output(tiling, list(unpack_tiles(content, access.tile, board.beat_bytes)))
    assert tensor.node is not None
    content = content[: tensor.outer * size].ljust(tensor.outer * size, b"\0")
    nested: list[object] = list(unpack_tiles(content, access.tile, board.beat_bytes))
    shape = [int(each) for each in tensor.node.input_types[access.port].shape]
    for extent in reversed(shape[1:]):
        nested = [nested[start : start + extent] for start in range(0, len(nested), extent)]
    return from_nested(nested, len(shape) - 1)[:-1]
