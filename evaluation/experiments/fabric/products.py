"""Fig. 8 with whole tiles: the critical path of every tile size, parted into memory and products.

A product of our fabric begins with the first words of its tiles, but its result leaves when most of it is done, so
what it takes is hidden only behind the load of other tiles. That is what pieces of tiles are for.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getfile

from experiments.fabric import validation
from experiments.fabric.points import FabricPoint
from experiments.fabric.record import digest_with
from experiments.published import swiglu
from experiments.work import Experiment
from sim_approx.explain.explanation import explain

COLUMNS = ("point", "cycles", "memory", "products", "cpu_seconds", "version", "sources")
"""``memory``: cycles of the path in which beats waited for beats or were on their way; ``products``: in which a
matmul worked, or its result was on the way."""
MATMULS = ("gate_projection", "up_projection", "down_projection")


def measured(point: FabricPoint) -> dict[str, object]:
    """The row of a point."""
    found = explain(point.make(), changes=False)
    parts = {"memory": 0, "products": 0}
    for cause, cycles in found.path.shares().items():
        if cause.what == "off-chip memory":
            parts["memory"] += cycles
        elif cause.what in MATMULS:
            parts["products"] += cycles
    return {"cycles": found.cycles, **parts}


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest_with(getfile(swiglu), getfile(validation), __file__)


def whole_tiles() -> Iterator[FabricPoint]:
    """All 15 tile sizes, with tiles in one piece."""
    return validation.validation(validation.whole)


CAMPAIGN = Experiment("products", COLUMNS, {"8": whole_tiles}, measured, sources)
"""What whole tiles take more than HDL, and what of it products are."""
