"""The nodes of a language model in three parts: before its layers, in one of them, behind them.

All layers must be the same nodes with other parameters, so one of them stands for all; or a few of them must, that
follow each other again and again, as windows and whole attention do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any

from step.errors import InputError
from step_torch.nodes import Nodes, Ref, TorchNode, needed

MOST_KINDS = 8
"""Layers that repeat each other may be as many one after the other: all of them are in hardware."""

_LAYER = re.compile(r"(?<![^.])layers\.(\d+)(?=\.|$)")


@dataclass(frozen=True)
class Stacked:
    """``entry`` makes the row that goes into the first layer, ``tables`` what all layers read besides; ``layer`` are
    the nodes of the first layer, and ``head`` those behind the last one.

    ``row_in`` and ``row_out`` are the names of the row in front of the first layer and behind it, ``last`` is that
    behind the last one. ``caches``: inputs of the first layer.
    """

    count: int
    entry: tuple[TorchNode, ...]
    tables: tuple[TorchNode, ...]
    layer: tuple[TorchNode, ...]
    head: tuple[TorchNode, ...]
    row_in: str
    row_out: str
    last: str
    parameters: dict[str, list[str]]
    """Of each parameter of the first layer, by its name among the values: the weights of all layers."""
    states: dict[str, str]
    """Of each state that the first layer makes: the input that is the one before."""


def stacked(nodes: Nodes, path: object) -> Stacked:
    """The parts of ``nodes``; raises `InputError` where they are no stack of equal layers."""
    each, before, behind = _parts(nodes, path)
    sizes = [size for size in range(1, MOST_KINDS + 1) if len(each) % size == 0]
    more = len(each[0]) - len(each[-1])  # in front of the first layer alone, as a norm of embeddings
    groups = [
        (lead, [[*chain(*each[at : at + size])][lead * (at == 0) :] for at in range(0, len(each), size)])
        for size in sizes
        for lead in sorted({0, max(0, more)})
    ]
    tables = {name for node in before for name in node.results} & {*_reads(each[1:])} - _copies(nodes)
    lead, layers = next((some for some in groups if _alike(some[1], nodes, tables)), groups[0])
    before += each[0][:lead]
    first, shapes = layers[0], [_shape(each, nodes, tables) for each in layers]
    for number, (shape, _) in enumerate(shapes):
        if shape != shapes[0][0]:
            at = next((i for i, (a, b) in enumerate(zip(shape, shapes[0][0], strict=False)) if a != b), -1)
            node = layers[number][at]
            raise InputError(f"layer {number} of '{path}' is not as layer 0: {node.op} at {node.place}")
    row_in = _row_in(layers, nodes, path)
    made = [{name for node in each for name in node.results} for each in layers]
    last = next((name for node in behind for name in node.reads if name in made[-1]), None)
    if last is None:
        raise InputError(f"'{path}' has nothing behind its layers: the head of a language model is missing")
    row_out = next((name for node in layers[1] for name in node.reads if name in made[0]), last) if layers[1:] else last
    entry = needed(before, [row_in])
    beside = tuple(node for node in before if node not in entry)
    parameters = {name: [own[at] for _, own in shapes] for at, name in enumerate(_own(first, nodes))}
    new = nodes.outputs[1:]
    states = dict(zip(new, nodes.inputs[len(nodes.inputs) - len(new) :], strict=True))
    states = {each: name for each, name in states.items() if each in made[0]}
    return Stacked(len(layers), entry, beside, tuple(first), tuple(behind), row_in, row_out, last, parameters, states)


def _alike(layers: list[list[TorchNode]], of: Nodes, tables: Set[str]) -> bool:
    return all(_shape(each, of, tables)[0] == _shape(layers[0], of, tables)[0] for each in layers)


def _reads(layers: list[list[TorchNode]]) -> Iterator[str]:
    return (name for layer in layers for node in layer for name in node.reads)


def _copies(nodes: Nodes) -> set[str]:
    """Copies of inputs, as those of states are."""
    return {node.name for node in nodes.nodes if node.op == "aten.clone.default" and {*node.reads} <= {*nodes.inputs}}


def _parts(nodes: Nodes, path: object) -> tuple[list[list[TorchNode]], list[TorchNode], list[TorchNode]]:
    """The nodes of each layer, and the others, before and behind the begin of the first one."""
    groups, outside, made = dict[int, list[TorchNode]](), list[tuple[int, TorchNode]](), dict[str, str]()
    for place, node in enumerate(nodes.nodes):
        found = _LAYER.findall(node.place.module)
        if not found and node.name in nodes.outputs[1:]:  # a view of a state, which torch makes behind all layers
            found = [made[each] for each in node.reads if each in made]
        made.update(dict.fromkeys(node.results, *found[-1:]) if found else {})
        if not found:
            outside.append((place, node))
        elif node.results and not node.op.startswith("_operator."):  # it is no check of torch's own, nor of extents
            groups.setdefault(int(found[-1]), []).append(node)
    if not groups or sorted(groups) != list(range(len(groups))):
        raise InputError(f"'{path}' has no layers: a language model has modules called layers.0, layers.1, ..")
    first = nodes.nodes.index(groups[0][0])
    before = [node for place, node in outside if place < first]
    behind = [node for place, node in outside if place > first]
    return [groups[number] for number in sorted(groups)], before, behind


def _row_in(layers: list[list[TorchNode]], nodes: Nodes, path: object) -> str:
    """The value that goes into the first layer: the others do not read it, as they do tables."""
    given = {*(name for node in layers[0] for name in node.results), *nodes.parameters, *nodes.inputs, *_copies(nodes)}
    entering = dict.fromkeys(name for node in layers[0] for name in node.reads if name not in given)
    others = {*_reads(layers[1:])}
    rows = [name for name in entering if name not in others] if layers[1:] else list(entering)[:1]
    if len(rows) != 1:
        raise InputError(
            f"'{path}' has layers into which {len(rows)} values go from the one before; one has a lowering"
        )
    return rows[0]


def _own(nodes: Sequence[TorchNode], of: Nodes) -> list[str]:
    return list(dict.fromkeys(name for node in nodes for name in node.reads if name in of.parameters))


def _shape(nodes: Sequence[TorchNode], of: Nodes, tables: Set[str]) -> tuple[list[Any], list[str]]:
    """The nodes as all layers must have them, and the weights of this one in the order in which they are read."""
    results = (name for node in nodes for name in node.results)
    known, seen = {name: f"result {number}" for number, name in enumerate(results)}, dict[str, Any]()

    def same(arg: Any) -> Any:
        if isinstance(arg, list):
            return [same(each) for each in arg]
        if not isinstance(arg, Ref):
            return arg
        if arg.name in tables:
            return arg.name
        return known.get(arg.name) or seen.setdefault(arg.name, (len(seen), of.metas.get(arg.name)))

    shape = [(node.op, same([*node.args]), {k: same(arg) for k, arg in node.options.items()}) for node in nodes]
    return shape, [of.parameters[name] for name in _own(nodes, of)]
