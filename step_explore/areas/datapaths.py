"""Amounts of the parts of datapaths."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from step.lowering.plans.parts import Circuit, Memory, Store
from step_explore.areas.amounts import Amounts


@singledispatch
def add(part: Any, found: Amounts) -> None:
    """Add the amounts of a ``part`` of a datapath (`DatapathPlan.parts`)."""
    raise NotImplementedError(f"no amounts of {part!r}")


@add.register
def _(part: Circuit, found: Amounts) -> None:
    found.put(part.kind, part.count)
    for name, amount in part.amounts.items():
        found.put(f"{part.kind}.{name}", amount)


@add.register
def _(part: Memory, found: Amounts) -> None:
    found.memory(part.bits * part.banks, part.places, deep=part.deep)
    found.put("memory.chosen_bits", part.bits * (part.banks - part.ports))


@add.register
def _(part: Store, found: Amounts) -> None:
    written, read = part.written.bits, part.read.bits
    if part.picked:
        found.put("store.picked_bits", part.copies * part.written.count * written)
        found.put("store.picks_bits", part.copies * part.read.count * read)
        return
    found.shallow(written, part.places, part.banks)
    if part.places == 1:
        found.put("store.written_bits", written * part.banks)
    if read < written or part.ratio == 1:
        found.put("store.chosen_bits", written - read)
