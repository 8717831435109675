"""Points: a workload each, on a fabric with the compute and memory of the published evaluation.

Workloads are those of `step_models` at full size, without values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from experiments.layers import CACHE_ROWS, REGIONS
from step import Program
from step_models import attention, moe
from step_models.configurations import Configuration
from step_models.fabrics import PUBLISHED, fitting

NARROW = 64
"""Rows of the weights of a mixture that is explained."""
RECORDED = 20e6
"""Bytes that it moves at most: each beat of them is recorded."""
COARSE = 16
"""Requests that a region gets at once in the coarse arrangement."""
ARRANGEMENTS: tuple[attention.Arrangement, ...] = ("coarse", "interleaved", "dynamic")
"""Of requests on regions."""
PIECES = "_address_pieces"
"""What the tiles of a region are called."""


@dataclass(frozen=True)
class FabricPoint:
    """``make`` builds the program. ``symbols`` are those of its metrics that are known without a run.

    ``narrow`` builds one with smaller weights to be explained in its place, from the bytes that the point moves, and
    says how large they are.
    """

    name: str
    make: Callable[[], Program]
    symbols: Mapping[str, int] = field(default_factory=dict)
    narrow: Callable[[int], tuple[Program, str]] | None = None


def on_fabric(program: Program, flops: int) -> Program:
    """``program`` on a fabric of ``flops`` operations a cycle and unit: a multiply-accumulate counts as two.

    Additions take one cycle: a deeper one holds up a matmul whose result has no more scalars than there are lanes, as
    most have here, so that it would have a fraction of these operations. All else is `step_models.fabrics.PUBLISHED`,
    with room for the program's tiles.
    """
    fabric = replace(PUBLISHED, matmul_lanes=flops // 2, vector_lanes=flops // 2, stages=1)
    return Program(program.graph, program.inputs, fitting(program.graph, fabric, rows=program.fabric.dynamic_rows))


def mixture(
    name: str,
    model: Configuration,
    routing: np.ndarray,
    *,
    rows: int | None,
    columns: int,
    flops: int,
    regions: int | None = None,
) -> FabricPoint:
    """A mixture of experts in tiles of ``rows`` rows, or of dynamic size (None)."""

    def make(hidden: int = model.hidden, inner: int = model.inner) -> Program:
        program = moe.program(
            routing,
            experts=model.experts,
            hidden=hidden,
            inner=inner,
            rows=rows,
            columns=columns,
            regions=regions,
            values=False,
        )
        return on_fabric(program, flops)

    def narrow(moved: int) -> tuple[Program, str]:
        hidden, inner = min(model.hidden, NARROW), model.inner
        while moved * hidden * inner > RECORDED * model.hidden * model.inner and inner % (2 * columns) == 0:
            inner //= 2
        return make(hidden, inner), f"{hidden} x {inner}"

    return FabricPoint(name, make, moe.symbols(routing, model.experts, rows=rows, regions=regions), narrow)


def shared(sequences: int, tiles: int, parts: str = "parts") -> dict[str, int]:
    """Symbols of regions that share ``sequences`` with so many ``tiles`` in their caches, as if one region had all: the
    bytes that they move depend on the sums alone."""
    none = {f"{name}{end}": 0 for n in range(REGIONS) for name, end in ((f"{parts}_D{n}", ""), (f"region{n}", PIECES))}
    return none | {f"{parts}_D0": sequences, f"region0{PIECES}": tiles}


def attention_symbols(lengths: np.ndarray, arrangement: attention.Arrangement) -> dict[str, int]:
    """Symbols of one head of requests with these ``lengths`` of their caches."""
    tiles = int((lengths // CACHE_ROWS + 1).sum())
    return shared(len(lengths), tiles, "parallel_parts" if arrangement == "dynamic" else "parts")


def attentions(name: str, lengths: np.ndarray, room: int, size: int = 64) -> Iterator[FabricPoint]:
    """The requests of a batch in each arrangement; see `attended`."""
    for arrangement in ARRANGEMENTS:
        block = {"block": COARSE} if arrangement == "coarse" else {}
        yield attended(f"{name} {arrangement}", lengths, room, size, arrangement=arrangement, **block)


def attended(
    name: str, lengths: np.ndarray, room: int, size: int = 64, *, arrangement: attention.Arrangement, **how: Any
) -> FabricPoint:
    """One KV head of Qwen3 on four regions, as the artifact has it: heads of 64 columns, and weights that are neither
    scaled nor relative to a maximum. ``room``: rows of a cache."""

    def make() -> Program:
        program = attention.program(
            lengths,
            arrangement=arrangement,
            regions=REGIONS,
            heads=1,
            group=8,
            size=size,
            rows=CACHE_ROWS,
            room=room,
            online=False,
            scaled=False,
            values=False,
            **how,
        )
        return on_fabric(program, 2048)

    return FabricPoint(name, make, attention_symbols(lengths, arrangement))
