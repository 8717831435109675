"""Amounts of the parts of datapaths."""

from __future__ import annotations

from step.lowering.plans.parts import Circuit, Memory, Part, Store
from step_explore.areas.amounts import Amounts


def add(part: Part, found: Amounts) -> None:
    """Add the amounts of a ``part`` of a datapath (`DatapathPlan.parts`)."""
    match part:
        case Circuit():
            found.put(part.kind, part.count)
            for name, amount in part.amounts.items():
                found.put(f"{part.kind}.{name}", amount)
        case Memory():
            found.memory(part.bits * part.banks, part.places, deep=part.deep)
            found.put("memory.chosen_bits", part.bits * (part.banks - part.ports))
        case Store(picked=True):
            came, left = (each.count * each.bits for each in (part.written, part.read))
            found.put("store.picked_bits", part.copies * came)
            found.put("store.picks_bits", part.copies * min(came, left))  # scalars that are repeated are chosen once
        case Store(written=written, read=read):
            found.shallow(written.bits, part.places, part.banks)
            found.put("store.written_bits", written.bits * part.banks * (part.places == 1))
            found.put("store.chosen_bits", (written.bits - read.bits) * (read.bits < written.bits or part.ratio == 1))
