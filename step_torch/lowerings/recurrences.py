"""Loops over rows: the nodes of one step, whose states go round.

A step begins as the one before it makes its states. Results that no state decides are on their way before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from step import Selector, Stream, Tile
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import AxisPart, TensorAxis, TileLayout, Value, sizes
from step_torch.lowerings.elementwise import cast, renamed
from step_torch.lowerings.shapes import spread
from step_torch.nodes import Body
from step_torch.pieces import merged
from step_torch.registry import lowers
from step_torch.sources import STREAMS, Sources, Stored


@dataclass(kw_only=True)
class EveryStep(Sources):
    """Tensors are read for every step of a loop, of which there are ``steps``."""

    steps: AxisPart

    def read(self, given: Stored, wanted: TileLayout) -> Value:
        value = super().read(given, replace(wanted, loops=(self.steps, *wanted.loops)))
        inner = len(wanted.loops)
        stream = value.stream.flatten(inner, inner + 1, name=self.names(given)("each_step"))
        return replace(value, stream=stream, layout=wanted)

    def played(self, element: Tile | Selector, values: Sequence[Any], count: int, name: str) -> Stream:
        return super().played(element, values, self.steps.count * count, name)


class Carried:
    """A state that goes round: ``now`` is that of every step, ``first`` the one in front of the first one."""

    def __init__(self, at: Importer, first: Value, steps: int) -> None:
        graph, extents = at.graph, first.layout.extents
        self.at, self.first, self.inner = at, first, len(extents)
        self.enters = [0] + [1] * (steps - 1)
        self.back = graph.feedback(first.stream.element, [steps - 1, *extents], name=at.name("back"))
        again = self.back.stream.buffered(prod(extents)) if extents else self.back.stream
        enter = graph.turns(2, self.enters, name=at.name("enter"))
        both = graph.reassemble([first.stream, again], enter, rank=self.inner, order="index", name=at.name("state_in"))
        stream = both.flatten(self.inner, self.inner + 1, name=at.name("state"))
        self.now = replace(first, stream=stream.assume_shape([steps, *extents]))

    def close(self, new: Stream) -> None:
        """``new`` of every step but the last one is the state of the next one."""
        steps = len(self.enters)
        turns = self.at.graph.turns(1, [*[0] * (steps - 1), []], name=self.at.name("again"))
        (again,) = new.partition(turns, targets=1, rank=self.inner, name=self.at.name("next"))
        self.back.close(again.assume_shape(self.back.type.shape))

    def last(self, new: Stream) -> Value:
        """The state behind the last step."""
        turns = self.at.graph.turns(1, [*[[]] * (len(self.enters) - 1), 0], name=self.at.name("last"))
        (end,) = new.partition(turns, targets=1, rank=self.inner, name=self.at.name("end"))
        return replace(self.first, stream=end.assume_shape([1, *self.first.layout.extents]))


@lowers("higher_order.scan")
def scan(at: Importer, body: Body, init: list[Any], xs: list[Any], more: Sequence[Any]) -> tuple[Value | None, ...]:
    """A step for each row of ``xs``, from states to states and a result."""
    time = at.axis("time", sizes(xs[0].dims)[0])
    steps = AxisPart(time, time.extent)
    rows = [_step_by_step(at, at.value(each), time) for each in xs]
    more = [each if isinstance(each, Stored) else _again(at, at.value(each), time) for each in more]
    pairs = zip(init, body.inputs, strict=False)
    begin = [(at.value(each), STREAMS[at.nodes.metas[name].dtype]) for each, name in pairs]
    states = [Carried(at, with_dtype(each, cast(at, each.stream, kept), kept), time.extent) for each, kept in begin]
    at.values.update(zip(body.inputs, [*(each.now for each in states), *rows, *more], strict=True))
    node, nodes, sources, tiling = at.node, at.nodes, at.sources, at.tiling
    inner = tuple(replace(each, place=replace(each.place, module=node.place.module)) for each in body.nodes)
    at.nodes, at.sources = replace(nodes, nodes=inner, outputs=body.outputs), EveryStep(at, steps=steps)
    at.tiling = replace(tiling, columns=1 << 20)
    at.lower(inner)
    at.tiling = tiling
    at.node, found = node, [at.value(at.values[name]) for name in body.outputs]
    why, ends = "a state goes round", list[Value | None]()
    for state, value in zip(states, found, strict=False):
        new = at.joiner.to(renamed(at, value, state.first.dims), state.first.layout, why).stream
        new = cast(at, new, state.first.dtype)
        state.close(new)
        at.nodes = nodes
        ends.append(state.last(new) if at.is_read(len(ends)) else None)
    at.nodes, at.sources = nodes, sources
    return *ends, *(_all_steps(at, each, steps) for each in found[len(init) :])


def _step_by_step(at: Importer, value: Value, time: TensorAxis) -> Value:
    """Rows [steps, ..] of a value whose first dimension is ``time``."""
    why = "a loop takes rows one by one"
    value, dims = merged(at, value, 0), value.dims[1:]
    value = replace(renamed(at, value, ((time,), *dims)), dims=dims)
    if value.layout.columns is not None and value.layout.columns.axis == time:
        value = at.joiner.facing(value, dims[-1][-1] if dims[-1] else None, why)
    if value.layout.rows is not None and value.layout.rows.axis == time:
        value = at.joiner.row_by_row(value, why)
    others = tuple(each for each in value.layout.loops if each.axis != time)
    value = at.joiner.reordered(value, (AxisPart(time, time.extent), *others), why)
    stream = value.stream.flatten(len(others), len(others) + 1, name=at.name("row"))
    return replace(value, stream=stream, layout=replace(value.layout, loops=others))


def _again(at: Importer, value: Value, time: TensorAxis) -> Value:
    """The same for every step."""
    value = replace(value, dims=((), *value.dims))
    return _step_by_step(at, spread(at, value, (time.extent, *sizes(value.dims[1:]))), time)


def _all_steps(at: Importer, value: Value, steps: AxisPart) -> Value:
    """The results of all steps as one value, with the dimension of these in front."""
    stream = value.stream.reshape(steps.count, rank=len(value.layout.loops), name=at.name("steps"))[0]
    stream = stream.assume_shape([1, steps.count, *value.layout.extents])
    layout = replace(value.layout, loops=(steps, *value.layout.loops))
    return replace(value, stream=stream, dims=((steps.axis,), *value.dims), layout=layout)
