"""Recurrent layers: one cell in a loop over time, which has its weights on chip.

Shares of the input in all gates are a product of all steps at once. States go round: a step begins when the one before
it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from step import BF16, FP32, Stream
from step.functions import Add, Cast, Matmul, Mul, MulAdd, Relu, Sigmoid, Sub, Tanh
from step.language.graph import Feedback
from step_torch.importing import Importer
from step_torch.layouts import AxisPart, Dims, TensorAxis, TileLayout, Value, sizes, whole
from step_torch.loops import in_one_loop
from step_torch.lowerings import shapes
from step_torch.lowerings.elementwise import renamed
from step_torch.lowerings.products import Product, below, linear
from step_torch.pieces import chained
from step_torch.registry import lowers
from step_torch.sources import Stored, supported

WHY = "a step has all rows of a batch"


@dataclass(frozen=True)
class _Later:
    """A result that is made when somebody reads it."""

    dims: Dims
    make: Callable[[], Value]

    def value(self, at: Importer) -> Value:
        """The result as a stream."""
        return self.make()


@dataclass(frozen=True)
class _Gates:
    """Shares in the gates of a cell: those ``of_inputs``, and those of its ``state``, by ``weights`` and a bias.

    ``layout``: of the states of all steps.
    """

    at: Importer
    of_inputs: Product
    state: Stream
    weights: Sequence[Stored]
    batch: tuple[TensorAxis, ...]
    layout: TileLayout

    def of_input(self, number: int) -> Stream:
        """The share of the input in a gate, step by step."""
        at, (rows, size) = self.at, self.layout.tile
        value = below(at, self.of_inputs.cut(number * size, size).value(at, size), self.batch, WHY)
        value = at.joiner.reordered(at.joiner.rows(value, rows, WHY), self.layout.loops, WHY)
        return in_one_loop(at, value, "gate")

    def of_state(self, number: int) -> Stream:
        """The share of the state in a gate."""
        matrix, *biases = self.weights
        product = Matmul(transposed=True, sum=self.at.tiling.sum)
        share = self.state.map(product, self._read(matrix, number), name=self.at.name("product"))
        for each in biases:
            share = share.map(Add(), self._read(each, number), name=self.at.name("biased"))
        return share

    def total(self, number: int) -> Stream:
        """Both shares."""
        return self.of_state(number).map(Add(), self.of_input(number), name=self.at.name("sum"))

    def open(self, number: int) -> Stream:
        """How far a gate is open."""
        return self.total(number).map(Sigmoid(), name=self.at.name("open"))

    def _read(self, given: Stored, number: int) -> Stream:
        """The part of a weight that belongs to a gate, for every step."""
        size = self.layout.tile[1]
        axes = [TensorAxis(self.at.name(name), size) for name in ("gate", "inner")[: given.data.ndim]]
        own = slice(number * size, (number + 1) * size)
        part = given.formed(str(number), lambda data: data[own], tuple((each,) for each in axes))
        rows = whole(axes[0]) if len(axes) > 1 else None
        value = self.at.in_layout(part, TileLayout(self.layout.loops, rows, whole(axes[-1])), WHY)
        return in_one_loop(self.at, value, "weight")


def _lstm(at: Importer, gates: _Gates, state: Stream, cell: Stream) -> list[Stream]:
    new = gates.total(2).map(Tanh(), name=at.name("new"))
    added = gates.open(0).map(Mul(), new, name=at.name("added"))
    cell = gates.open(1).map(MulAdd(), cell, added, name=at.name("cell"))
    shown = cell.map(Tanh(), name=at.name("shown"))
    return [gates.open(3).map(Mul(out=BF16), shown, name=at.name("state")), cell]


def _gru(at: Importer, gates: _Gates, state: Stream) -> list[Stream]:
    new = gates.open(0).map(MulAdd(), gates.of_state(2), gates.of_input(2), name=at.name("sum"))
    new = new.map(Tanh(), name=at.name("new"))
    change = state.map(Sub(out=FP32), new, name=at.name("change"))
    return [gates.open(1).map(MulAdd(out=BF16), change, new, name=at.name("state"))]


def _plain(at: Importer, gates: _Gates, state: Stream) -> list[Stream]:
    function = Relu(out=BF16) if "relu" in at.node.op else Tanh(out=BF16)
    return [gates.total(0).map(function, name=at.name("state"))]


_CELLS: dict[str, Callable[..., list[Stream]]] = {
    "aten.lstm.input": _lstm, "aten.gru.input": _gru, "aten.rnn_tanh.input": _plain, "aten.rnn_relu.input": _plain
}  # fmt: skip
"""New states of a step, of which the first is its output."""


@lowers(*_CELLS)
def recurrent(
    at: Importer,
    x: Any,
    states: Any,
    weights: list[Stored],
    has_biases: bool,
    count: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, ...]:
    """Layers, each of which is one cell in a loop over time."""
    supported(not bidirectional, "both directions of time; the first one alone has a lowering")
    x = shapes.permute(at, x, [1, 0, 2]) if batch_first else x
    width, ends = len(weights) // count, list[list[_Later]]()
    for number in range(count):
        begin = [_of_layer(each, number) for each in (states if isinstance(states, list) else [states])]
        x, last = _over_time(at, x, begin, weights[number * width : (number + 1) * width])
        ends.append(last)
    time, batch, hidden = x.dims
    result = _Later((batch, time, hidden), lambda: shapes.permute(at, x, [1, 0, 2])) if batch_first else x
    return result, *(_stacked(at, each) for each in zip(*ends, strict=True))


def _over_time(at: Importer, x: Any, begin: list[Any], weights: list[Stored]) -> tuple[_Later, list[_Later]]:
    """The outputs of all steps, and the states behind the last one."""
    graph, (of_input, of_state, *biases), (time, batch, _) = at.graph, weights, x.dims
    steps, hidden = sizes([time])[0], TensorAxis(at.name("hidden"), of_state.data.shape[1])
    tile = TileLayout((), whole(batch[0]) if batch else None, whole(hidden))
    layout = replace(tile, loops=tuple(AxisPart(axis, axis.extent) for axis in time))
    now = [at.in_layout(renamed(at, each, (batch, (hidden,))), tile, WHY).stream for each in begin]
    now[1:] = [each.map(Cast(FP32), name=at.name("wide")) for each in now[1:]]
    back = list[Feedback]()
    for number, first in enumerate(now if steps > 1 else ()):
        enter = graph.turns(2, [0] + [1] * (steps - 1), name=at.name("enter"))
        back.append(graph.feedback(first.element, [steps - 1], name=at.name("back")))
        both = graph.reassemble([first, back[-1].stream], enter, order="index", name=at.name("state_in"))
        now[number] = both.flatten(0, 1, name=at.name("now")).assume_shape([steps])
    of_inputs = replace(linear(at, x, of_input, *biases[:1]), dtype=FP32)
    new = _CELLS[at.node.op](at, _Gates(at, of_inputs, now[0], [of_state, *biases[1:]], batch, layout), *now)
    dims, behind = ((), batch, (hidden,)), [0] * (steps - 1)
    for each, loop in zip(new, back, strict=False):
        again = each.partition(graph.turns(1, [*behind, []], name=at.name("again")), targets=1, name=at.name("next"))
        loop.close(again[0].assume_shape([steps - 1]))

    def outputs() -> Value:
        stream = new[0].reshape(steps, name=at.name("steps"))[0].assume_shape([1, steps]) if back else new[0]
        return Value(stream, (time, *dims[1:]), layout, BF16)

    def end(state: Stream) -> Value:
        if back:
            last = graph.turns(1, [*([] for _ in behind), [0]], name=at.name("last"))
            state = state.partition(last, targets=1, name=at.name("end"))[0].assume_shape([1])
        is_wide = state.element.tiles[0].dtype is FP32
        return Value(state.map(Cast(BF16), name=at.name("rounded")) if is_wide else state, dims, tile, BF16)

    return _Later((time, *dims[1:]), outputs), [_Later(dims, partial(end, each)) for each in new]


def _of_layer(states: Any, number: int) -> Any:
    """The states [batch, hidden] of a layer among those of all."""
    if isinstance(states, Stored) and states.is_parameter:
        return states.formed(str(number), lambda data: data[number], states.dims[1:])
    supported(not states.dims[0], "states of several layers that are no constant; those of one have a lowering")
    return replace(states, dims=states.dims[1:])


def _stacked(at: Importer, ends: Sequence[_Later]) -> _Later:
    """States [layers, batch, hidden] of all layers behind the last step."""
    if len(ends) == 1:
        return ends[0]
    layers = TensorAxis(at.name("layers"), len(ends))
    return _Later(((layers,), *ends[0].dims[1:]), lambda: chained(at, [each.value(at) for each in ends], 0))
