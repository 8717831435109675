"""Programs whose streams are in memory, behind registers (`registered`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from registered import Registered

from hw.dma.images import sink_tokens, source_images
from hw.links.layout import input_formats, output_formats
from step.functions import Add
from step.language.dtypes import BF16, UINT32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.board import BoardStream, Image
from step.lowering.bus import BusConfig
from step.lowering.dma import LENGTH_BYTES
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import BoundInputs, bind_inputs

FABRIC = FabricConfig(link_bytes=4, memory=MemoryConfig(beat_bytes=8))
BUS = BusConfig(masters=2, bytes=8, burst=4)
LIES = {2: ("x_list", 1, 1), 3: ("x_list", 2, 200)}
"""Which inputs have a list with another word (the list, its place and its value): it counts one request of values, or
has more rows than lengths. All else is that of the first inputs."""


class InMemory(Registered):
    """A program whose streams are all in memory."""

    streams = True
    room = 2048
    """Bytes of what has a limit."""
    lies: Mapping[int, tuple[str, int, int]] = {}
    """As `LIES`."""

    def _size(self, image: Image) -> int:
        found = (self._images(bind_inputs(self.graph, each)) for each in self.inputs)
        of_source = max(len(each.get(image.name, b"")) for each in found)
        return of_source or (self.room if image.limited else super()._size(image))

    def _images(self, bound: BoundInputs) -> dict[str, bytes]:
        """What sources read."""
        found = {}
        for stream in self.board.streams:
            node = self.netlist.units[stream.unit]
            if stream.is_source:
                (format,), element = output_formats(node, self.netlist), node.output_types[0].element
                images = source_images(bound.streams[node.name], element, stream.plan, format)
                found |= {f"{stream.name}_{part}": each for part, each in images.items()}
        return found

    def _contents(self, number: int, base: int, size: int) -> bytes:
        contents = bytearray(super()._contents(number, base, size))
        for name, part in self._images(bind_inputs(self.graph, self.inputs[number])).items():
            at = self.bases[name] - base
            contents[at : at + len(part)] = part
        if number in self.lies:
            name, place, word = self.lies[number]
            at = self.bases[name] - base + LENGTH_BYTES * place
            contents[at : at + LENGTH_BYTES] = word.to_bytes(LENGTH_BYTES, "little")
        return bytes(contents)

    def written(self, stream: BoardStream, memory: bytes) -> list[str]:
        """The tokens that a sink has written."""
        node, images = self.netlist.units[stream.unit], {}
        for part in stream.plan.parts:
            name = f"{stream.name}_{part}"
            images[part] = memory[self.bases[name] - self._base :][: self.sizes[name]]
        (format,) = input_formats(node, self.netlist)
        tokens = sink_tokens(images, node.inputs[0].element, stream.plan, format)
        return [str(each) for each in tokens if not each.done]

    def _check_sinks(self, wanted: dict[str, Any], played: dict[str, Any]) -> None:
        for stream in self.board.streams:
            if not stream.is_source:
                got = self.written(stream, bytes.fromhex(played["memory"]))
                assert got == [str(each) for each in wanted[stream.name]], f"{stream.name} is something else"


class Streamed(InMemory):
    """A ragged source, doubled, in a ragged sink and a store of any number of tiles; a static one of addresses, whose
    tiles are stored, and in a sink."""

    lies = LIES

    def __init__(self, directory: Path, simulator: str) -> None:
        graph, random = Graph("streamed"), Random(1)
        graph.symbol("R", ragged=True)
        x = graph.source("x", Tile(BF16, 1, 4), [graph.symbol(f"D{at}", ragged=True) for at in (1, 0)])
        doubled = x.map(Add(), x)
        doubled.sink("y")
        doubled.store("u")
        tiles = graph.source("z", Tile(UINT32), [5]).load_random(graph.tensor("t", (8, 4), BF16), tile=(2, 4))
        tiles.store("s")
        tiles.sink("w")
        inputs = [
            {
                "x": [[np.full((1, 4), random.randrange(99)) for _ in range(random.randrange(7))] for _ in range(rows)],
                "z": np.array([random.randrange(4) for _ in range(5)], np.uint32),
                "t": np.array([[random.randrange(99) for _ in range(4)] for _ in range(8)]),
            }
            for rows in (18, 25)
        ]
        super().__init__(graph, FABRIC, BUS, directory, *inputs, *[inputs[0]] * len(LIES), simulator=simulator)
