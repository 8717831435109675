"""Decoding with INT4 weights: cycles and area of [1, K] x [K, N] beside cycles of reading its weights and scales.

    python -m benchmarks.quantized [--inner 1024] [--cols 4096] [--group 64] [--tokens 4]

Memory moves 2,048 bytes a cycle. Regions side by side have a load, a product and its scales each, for a part of the
columns; links are as wide as beats, lanes of a product are the columns of its region. Scales of several tokens wait in
a channel: where they are loaded in between they disturb loads of weights, on 32 regions for a third of the cycles.
``rows``: activations come as BF16, and `step.library.quantize_rows` stands in front. Areas are those of
`step_explore.areas`.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from step import BF16, FP32, INT8, FabricConfig, Graph, MemoryConfig, Program, Simulator, Stream, Tile
from step.functions import RetileStreamify
from step.library import quantize_rows, quantized_matmul
from step.programs.prepare import prepare
from step_explore.areas import area_of

BYTES = 2048
"""Of memory, in a cycle."""

AHEAD = 4
"""Tokens of which scales wait."""

TALL = 64
"""Rows of a tile of weights, at most; a larger group has several."""


def program(
    inner: int, cols: int, group: int, tokens: int, *, regions: int, lanes: int, rows: bool = True, reads: bool = False
) -> Program:
    """The product on so many ``regions``, with so many vector ``lanes``; or only what ``reads`` its weights.

    ``rows``: activations are BF16, which are quantised on the way.
    """
    graph, width, groups, tall = Graph("decoding"), cols // regions, inner // group, min(group, TALL)
    data: dict[str, object] = {}

    def played(name: str, tile: Tile) -> Stream:
        data[name] = np.zeros((tokens, *tile.shape))
        return graph.source(name, tile, [tokens])

    def load(name: str, tile: Tile) -> Stream:
        """Every tile once for each token."""
        down, across = map(int, tile.shape)
        count = inner // tall if down > 1 else groups
        data[name] = np.zeros((down * count, across))
        tensor = graph.tensor(name, (down * count, across), tile.dtype)
        loaded = graph.load(tensor, tile=(down, across), out=(tokens, count), stride=(0, 1), name=f"load_{name}")
        return loaded.flatten(1, 2)

    if not reads:
        x = played("x", Tile(BF16 if rows else INT8, 1, inner))
        integers, scales = quantize_rows(x) if rows else (x, played("scales", Tile(FP32)))
    for at in range(regions):
        weights = load(f"weights{at}", Tile(INT8, tall, width // 2))
        of_weights = load(f"scales{at}", Tile(BF16, 1, width)).buffered(AHEAD * groups)
        if reads:
            weights.sink(f"y{at}")
            of_weights.sink(f"z{at}")
            continue
        parts = integers.flat_map(RetileStreamify(tall, "col", rank=1), name=f"parts{at}")
        if group > tall:
            (parts, _), (weights, _) = (each.reshape(group // tall) for each in (parts, weights))
        quantized_matmul(parts, scales, weights, of_weights, bits=4, name=f"product{at}").sink(f"y{at}")
    beat = BYTES // regions
    memory = MemoryConfig(channels=regions, beat_bytes=beat)
    fabric = FabricConfig(memory=memory, link_bytes=beat, matmul_lanes=width, vector_lanes=lanes)
    return Program(graph, data, fabric)


def main() -> None:
    """Print one line per fabric."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in {"inner": 1024, "cols": 4096, "group": 64, "tokens": 4}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    given = vars(parser.parse_args())
    print(f"{'regions':>7} {'lanes':>5} {'tokens':>6} {'reads':>6} {'cycles':>6} {'rows':>6} {'ratio':>6}  area")
    for regions, lanes in ((32, 16), (32, 4), (8, 16), (8, 64), (1, 256)):
        for tokens in sorted({1, given["tokens"]}):
            make = partial(program, **given | {"tokens": tokens}, regions=regions, lanes=lanes)
            made = make(reads=True), make(rows=False), make()
            reads, alone, whole = (Simulator(each, values="control").run().cycles for each in made)
            area = area_of(prepare(made[1]).netlist).rounded()
            print(f"{regions:7} {lanes:5} {tokens:6} {reads:6} {alone:6} {whole:6} {alone / reads:6.3f}  {area}")


if __name__ == "__main__":
    main()
