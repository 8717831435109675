"""What a module writes by hand as others have it: attention over a cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, fx
from torch.export import ExportedProgram

from step_torch.known import constants_of, stored
from step_torch.masks import NEVER

_ATEN = torch.ops.aten

SAME = (
    _ATEN.view.default, _ATEN.expand.default, _ATEN.permute.default, _ATEN.unsqueeze.default, _ATEN.squeeze.dims,
    _ATEN.clone.default, _ATEN._to_copy.default,
)  # fmt: skip
"""Operators that leave scalars as they are, in another shape or format."""

_LINEAR = (
    *SAME, _ATEN.mul.Tensor, _ATEN.div.Tensor, _ATEN.add.Tensor, _ATEN.sub.Tensor, _ATEN.where.self,
    _ATEN.masked_fill.Scalar, _ATEN.masked_fill.Tensor,
)  # fmt: skip
"""Operators that make a * x + b of the one operand that is no constant."""

Known = Mapping[fx.Node, Tensor]
"""Nodes whose numbers are known."""


def rewrite(program: ExportedProgram) -> None:
    """Bring ``program`` to the forms that have a lowering."""
    for node in program.graph.find_nodes(op="call_function", target=_ATEN.view_as_real.default):
        if node.args[0].target is _ATEN.view_as_complex.default:
            node.replace_all_uses_with(node.args[0].args[0])
    for name, each in program.constants.items():
        if isinstance(each, Tensor) and each.is_complex():  # which nobody reads any more
            program.constants[name] = torch.view_as_real(each)
    for node in program.graph.find_nodes(op="call_function", target=_ATEN.softmax.int):
        _mark(program, node)


def _mark(program: ExportedProgram, softmax: fx.Node) -> None:
    """`step.attention` in the place of two products with ``softmax`` between them, where rows come from caches."""
    known = constants_of(program)
    *_, product = _behind(softmax.args[0], _LINEAR, known)
    *_, weights = _ahead(softmax)
    weighed = next(iter(weights.users), None)
    if weighed is None or not all(each.target is _ATEN.bmm.default for each in (product, weighed)):
        return
    *_, key = _behind(product.args[1], SAME, known)
    *_, value = _behind(weighed.args[1], SAME, known)
    if not all(each.target is _ATEN.cat.default and each.args[0][0].op == "placeholder" for each in (key, value)):
        return
    (count, rows, _), (batch, *_, size) = product.meta["val"].shape, key.meta["val"].shape
    outer = batch, count // batch, rows
    query = _of_shape(_behind(product.args[0], SAME, known), (*outer, size))
    result = _of_shape(_ahead(weighed), (*outer, value.meta["val"].shape[-1]))
    if query is None or result is None:
        return
    found = _scale_and_mask(product, softmax, result, [query, key, value], known)
    if found is not None:
        scale, mask = found
        added = stored(program, softmax, mask) if mask.any() else None
        with program.graph.inserting_before(result):
            arguments = query, key, value, scale, added, None, False
            mark = program.graph.call_function(torch.ops.step.attention.default, arguments)
        mark.meta = {**result.meta}
        result.replace_all_uses_with(mark)


def _scale_and_mask(
    product: fx.Node, softmax: fx.Node, result: fx.Node, given: list[fx.Node], known: Known
) -> tuple[float, Tensor] | None:
    """What makes attention of queries, keys and values that are ``given`` the ``result``; None if that is another.

    Scores are a * product + b: two products tell a and b, and random numbers whether there is anything else.
    """
    like = torch.zeros(product.meta["val"].shape, dtype=torch.float64)
    at_0, at_1 = (_computed(softmax.args[0], {**known, product: like + each}) for each in (0, 1))
    mask = at_0.clamp_min(NEVER).reshape(*given[0].meta["val"].shape[:-1], -1)
    scale = float((at_1 - at_0).reshape(mask.shape)[mask > NEVER].flatten()[:1].sum())
    generator = torch.Generator().manual_seed(0)
    numbers = [torch.randn(each.meta["val"].shape, generator=generator, dtype=torch.float64) for each in given]
    exact = _computed(result, {**known, **dict(zip(given, numbers, strict=True))})
    mine = torch.ops.step.attention(*numbers, scale, mask, None, False)
    return (scale, mask.float()) if torch.allclose(mine, exact, 1e-9, 1e-12) else None


def _computed(node: fx.Node, known: dict[fx.Node, Tensor]) -> Tensor:
    """``node`` in float64, whatever its format."""
    if node not in known:
        for each in node.all_input_nodes:
            _computed(each, known)
        args, options = (fx.node.map_arg(each, known.get) for each in (node.args, node.kwargs))
        if node.target is _ATEN._to_copy.default and node.meta["val"].is_floating_point():
            known[node] = args[0]
        else:
            known[node] = node.target(*(args[:2] if node.target is _ATEN.softmax.int else args), **options)
    made = known[node]
    known[node] = made.double() if made.is_floating_point() else made
    return known[node]


def _behind(node: Any, through: tuple[Any, ...], known: Known) -> Iterator[fx.Node]:
    """``node``, and what it is made of by operators ``through`` of one operand that is not ``known``."""
    yield node
    moving = [each for each in node.all_input_nodes if each not in known]
    if node.target in through and len(moving) == 1:
        yield from _behind(moving[0], through, known)


def _ahead(node: fx.Node) -> Iterator[fx.Node]:
    """``node``, and what alone is made of it in other shapes."""
    yield node
    if len(node.users) == 1 and (reader := next(iter(node.users))).target in SAME:
        yield from _ahead(reader)


def _of_shape(nodes: Iterator[fx.Node], shape: tuple[int, ...]) -> fx.Node | None:
    """The last of ``nodes`` that is such a tensor in BF16."""
    values = [(each, each.meta["val"]) for each in nodes]
    fitting = [each for each, value in values if value.shape == shape and value.dtype == torch.bfloat16]
    return fitting[-1] if fitting else None
