"""Ragged axes: what the last tile has more than there is goes, or becomes a number that changes nothing.

Functions of rows by themselves need not know of it (`Importer.tiles`); all others get what there is (`Importer.value`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING

from step.functions import FilterLastTile
from step.language.function import NUMBER
from step_torch.layouts import AxisPart, TensorAxis, Value
from step_torch.loops import filtered, looped

if TYPE_CHECKING:
    from step_torch.importing import Importer


def exact(at: Importer, value: Value, axes: Sequence[TensorAxis] | None = None) -> Value:
    """``value`` with what there is of ``axes``, or of all, alone: in tiles that divide them."""
    for axis in (each for each in value.ragged if axes is None or each in axes):
        key, made = (value.stream.key, axis, value.layout), at.joiner.made
        if key not in made:
            made[key] = value.layout, _exact(at, value, axis)
        value = replace(value, stream=made[key][1].stream, layout=made[key][1].layout)
    return value


def _exact(at: Importer, value: Value, axis: TensorAxis) -> Value:
    side, part = value.layout.side(axis)
    tile, why = AxisPart(axis, gcd(part.count, axis.extent)), f"the last tile has more of {axis.name} than there is"
    if side and tile != part:
        value = at.joiner.cut(value, part, side, tile.count, why)
    value = at.joiner.innermost(value, tile, why)
    *outer, inner = value.layout.loops
    kept = filtered(at, value, value.layout.firsts(axis) < axis.extent)
    layout = replace(value.layout, loops=(*outer, replace(inner, count=axis.extent // tile.count)))
    return replace(value, stream=looped(at, kept, value.stream.shape[0], layout.extents), layout=layout)


def filled(at: Importer, value: Value, axis: TensorAxis, pad: float) -> Value:
    """``value`` with ``pad`` for what its last tiles have more of ``axis`` than there is."""
    if axis not in value.ragged:
        return value
    there = (axis.extent - value.layout.firsts(axis)).ravel().tolist()
    count = at.graph.generate(NUMBER, there, reference=value.stream, name=at.name("there"))
    side, _ = value.layout.side(axis)
    assert side, f"no tile of {value.layout} counts along {axis.name}"
    return replace(value, stream=value.stream.map(FilterLastTile(pad, side), count, name=at.name("filled")))
