"""Routers: the k largest of every row, and what is computed of them until experts take them.

Numbers of the chosen entries stay where they are in a row: of a tensor ``[rows, k]`` in torch a stream has all ``n``
columns, of which others than the chosen ones say nothing. Functions of single scalars go over all of them, and what
looks at a row as a whole sees the chosen ones alone. So their order in torch is never wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from step import BF16, BOOL, INT32, DType, Stream
from step.functions import Compare, Div, KeepTopK, Where
from step_torch import numbered
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import Dims, Value, sizes
from step_torch.lowerings.comparisons import choose
from step_torch.lowerings.elementwise import constant, kept, uniform
from step_torch.lowerings.indexing import in_order
from step_torch.registry import Options, lowers
from step_torch.sources import supported
from step_torch.views import in_shape

POSITIVE = ("softmax", "_softmax", "sigmoid", "exp")
"""Operators whose results are not negative."""

NEUTRAL: Mapping[str, float] = {"sum": 0.0, "any": 0, "amax": -inf, "softmax": -inf, "_softmax": -inf}
"""Operators that look at a row as a whole: what others than the chosen ones are for them."""

AS_IT_IS = tuple(f"step_torch.lowerings.{name}" for name in ("experts", "hits", "constants"))
"""Modules that take what was chosen as it is."""


CASTS = ("_to_copy", "clone")


SCALARS = ("elementwise", "unary", "comparisons")
"""Files of lowerings of functions of single scalars."""

SMALLEST = 2.0**-126
"""The smallest positive number: zeros count so where zero means that an entry was not chosen."""


@dataclass(eq=False)
class Selection:
    """The ``k`` largest of every row of ``of``, which are not negative where it is ``positive``."""

    of: Value
    k: int
    positive: bool
    made: dict[tuple[Any, Dims, float], Value] = field(default_factory=dict)
    """Rows in which others have been filled, by what they were made of."""
    sums: list[Value] = field(default_factory=list)
    _masks: dict[int, Stream] = field(default_factory=dict)
    _places: Value | None = None

    def __post_init__(self) -> None:
        self.ordered = numbered.Ordered(self.of, self.k, largest=True)

    def places(self, at: Importer) -> Value:
        """The numbers of all columns."""
        if self._places is None:
            rows, columns = self.of.layout.tile
            numbers = [[*range(columns)]] * rows
            stream = at.graph.constant(numbers, dtype=INT32, reference=self.of.stream, name=at.name("places"))
            self._places = replace(self.of, stream=stream, dtype=INT32)
        return self._places

    def mask(self, at: Importer, k: int) -> Stream:
        """Whether each entry is among the ``k`` largest, of BOOL."""
        if k not in self._masks:
            rows = self.of.stream
            zero = constant(at, 0.0, rows, kept(rows))
            if not self.positive:
                least = constant(at, SMALLEST, rows, kept(rows))
                zeros = rows.map(Compare("=="), zero, name=at.name("zeros"))
                rows = zeros.map(Where(), least, rows, name=at.name("some"))
            largest = rows.map(KeepTopK(k), name=at.name(f"largest{k}"))
            self._masks[k] = largest.map(Compare("!="), zero, name=at.name(f"mask{k}"))
        return self._masks[k]


@dataclass(frozen=True)
class Chosen:
    """Numbers of the entries of a ``selection``: those of ``dense``, a tensor with all columns.

    ``positive``: none is negative. ``zeroed``: what was not chosen is zero. ``result``: of topk itself, the number of
    its result.
    """

    selection: Selection
    dense: Value
    positive: bool = False
    zeroed: bool = False
    result: int | None = None
    apart: bool = False
    """With one more dimension, of one, behind the entries."""
    axes: Dims | None = None
    """The dimensions of rows of places, where these are not those of the selection."""

    @property
    def dims(self) -> Dims:
        """The dimensions of the rows."""
        return self.axes or self.dense.dims

    def entries(self, at: Importer) -> Value:
        """All columns: numbers, or of places those of the columns themselves."""
        if self.result != 1:
            return self.dense
        return in_shape(at, self.selection.places(at), sizes(self.dims))

    def value(self, at: Importer) -> Value:
        """The chosen entries side by side, the largest first."""
        shape = (*sizes(self.dims)[:-1], self.selection.k)
        made = in_shape(at, self.selection.ordered.result(at, columns=self.result != 0), shape)
        if self.result is None:
            made = numbered.gathered(at, self.dense, made)
        return in_shape(at, made, (*shape, 1)) if self.apart else made

    def filled(self, at: Importer, fill: float) -> Value:
        """All columns, with ``fill`` in the place of those that were not chosen."""
        selection, dense = self.selection, self.entries(at)
        key = dense.stream.key, dense.dims, fill
        if self.zeroed and fill == 0:
            return dense
        if key not in selection.made:
            if fill == 0 and dense is selection.of and selection.positive:
                stream = dense.stream.map(KeepTopK(selection.k), name=at.name("kept"))
                selection.made[key] = replace(dense, stream=stream)
            else:
                made = self.where(at, dense, fill, kept(dense.stream))
                selection.made[key] = replace(made, dtype=dense.dtype)
        return selection.made[key]

    def where(self, at: Importer, chosen: Value | float, other: Any, dtype: DType) -> Value:
        """``chosen`` numbers, and ``other`` ones in the place of those that are not, in the format ``dtype``."""
        selection = self.selection
        mask = replace(selection.of, stream=selection.mask(at, selection.k), dtype=BOOL)
        return choose(at, mask, chosen, other, dtype)

    def lowered(self, at: Importer, lowering: Callable[..., Any], args: Sequence[Any], options: Options) -> Any:
        """The node whose ``args`` have this one, lowered for all columns."""
        kind = at.node.op.split(".")[1]
        if kind in PLACED and _are_places(args[2:]) and args[1] in (-1, len(self.dims) - 1):
            return PLACED[kind](at, args[0], *args[2:])
        if lowering.__module__ in AS_IT_IS:
            return lowering(at, *args, **options)
        if kind == "unsqueeze" and args[1] in (-1, len(self.dims)) and not self.apart:
            return replace(self, apart=True)
        if kind == "view" and not self.apart:
            shape = at.meta.shape
            supported(shape[-1] == self.selection.k, "what a router chose changes its last dimension")
            whole = (*shape[:-1], sizes(self.dims)[-1])
            if self.result == 1:
                return replace(self, axes=at.axes(at.node.name, whole))
            return replace(self, dense=in_shape(at, self.dense, whole))
        last = len(self.dims) - 1
        if kind in NEUTRAL and not self.apart and args[1:2] in ([-1], [[-1]], [last], [[last]]):
            made = lowering(at, self.filled(at, NEUTRAL[kind]), *args[1:], **options)
            if "softmax" in kind:
                return replace(self, dense=made, positive=True, zeroed=True, result=None)
            if self.positive:
                self.selection.sums.append(made)
            return made
        scalars = [each.data.flat[0].item() if uniform(each) else each for each in args]
        several = [each for each in scalars if isinstance(each, Chosen)]
        others = [each for each in scalars if hasattr(each, "dims") and not isinstance(each, Chosen)]
        alike = all(each.selection is self.selection and not each.apart for each in several)
        is_alone = alike and all(sizes(each.dims)[-1:] == (1,) for each in others)  # others: numbers for whole rows
        if lowering.__module__.rpartition(".")[2] in SCALARS and is_alone:
            return self._scalars(at, lowering, scalars, several, others, options)

        def plain(arg: Any) -> Any:
            if isinstance(arg, list):
                return [plain(each) for each in arg]
            return arg.value(at) if isinstance(arg, Chosen) else arg

        return lowering(at, *map(plain, args), **options)

    def _scalars(
        self, at: Importer, lowering: Callable[..., Any], args: Sequence[Any], several: Sequence[Chosen],
        others: Sequence[Any], options: Options,
    ) -> Chosen:  # fmt: skip
        """A function of single scalars of all columns: of the ``several`` chosen among ``args``, and of ``others``."""
        kind, whole = at.node.op.split(".")[1], [each.entries(at) for each in several]
        filled = [self.selection.made.get((each.stream.key, each.dims, 0.0)) for each in whole]
        given = [each if own is None else own for each, own in zip(whole, filled, strict=True)]
        factors = [each > 0 for each in args[1:] if isinstance(each, int | float)]
        by_sums = all(any(each is one for one in self.selection.sums) for each in others)
        divides = kind == "div" and isinstance(args[0], Chosen) and len(several) == 1
        stays = by_sums and (divides or kind in ("mul", *CASTS))
        positive = kind in POSITIVE or (stays and all(factors) and all(each.positive for each in several))
        zeroed = stays and any(own is not None or each.zeroed for each, own in zip(several, filled, strict=True))
        if divides and stays and others and _is_rounded(at):
            value = with_dtype(given[0], given[0].stream.map(Div(BF16), others[0].stream, name=at.name()), BF16)
        else:
            queue = iter(given)
            value = lowering(at, *(next(queue) if isinstance(each, Chosen) else each for each in args), **options)
        is_same = kind in CASTS and self.result == 1 and not at.dtype.is_float
        return replace(self, dense=value, positive=positive, zeroed=zeroed, result=1 if is_same else None)


@lowers("aten.topk.default")
def top(at: Importer, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Any, ...]:
    """The largest of every row, or the smallest, and where they are."""
    if not largest or dim % len(x.dims) != len(x.dims) - 1:
        return in_order(at, x, dim, k, largest)
    positive = _is_positive(at, at.node.args[0])
    of = at.sources.in_rounds(at.whole_rows(x, "a router looks at a whole row"))
    selection = Selection(of, k, positive)
    return Chosen(selection, of, positive, result=0), Chosen(selection, of, positive=True, result=1)


def _are_places(given: Sequence[Any]) -> bool:
    """Whether the first one says where a router chose, and the others are of the same choice, or alike everywhere."""
    index, *others = given
    is_index = isinstance(index, Chosen) and index.result == 1 and not index.apart
    chosen = [each for each in others if isinstance(each, Chosen)]
    tensors = [each for each in others if hasattr(each, "dims") and not isinstance(each, Chosen)]
    are_alike = all(uniform(each) or sizes(each.dims)[-1:] == (1,) for each in tensors)
    return is_index and are_alike and all(each.selection is index.selection and not each.apart for each in chosen)


def _gathered(at: Importer, x: Any, index: Chosen) -> Chosen:
    """The entries of every row that a router chose."""
    dense = at.sources.in_rounds(at.whole_rows(x, "a router looks at a whole row"))
    return replace(index, dense=dense, positive=_is_positive(at, at.node.args[0]), zeroed=False, result=None)


def _scattered(at: Importer, x: Any, index: Chosen, source: Any) -> Value:
    """``x`` with other numbers for the entries that a router chose."""
    return index.where(at, source.entries(at) if isinstance(source, Chosen) else source, x, at.dtype)


def routed(at: Importer, index: Any, weight: Any, count: int) -> Chosen:
    """The ``weight`` of the experts ``index`` [rows, k] of every row, out of ``count``, wherever they come from."""
    if isinstance(weight, Chosen) and _are_places([index, weight]):
        return weight
    rows, k = sizes(index.dims)
    none = at.whole_rows(at.constant(np.zeros((rows, count)), "none", "bfloat16"), "a row has a place for each expert")
    places = at.value(index)
    mask = numbered.scattered(at, none, places, 1.0, adds=False)
    dense = numbered.scattered(at, none, places, at.value(weight), adds=True)
    return Chosen(Selection(mask, k, True), dense, zeroed=True)


PLACED: Mapping[str, Callable[..., Any]] = {"gather": _gathered, "scatter": _scattered}
"""What is done with entries at their places in a row."""


def _is_positive(at: Importer, given: Any) -> bool:
    """Whether numbers are known not to be negative."""
    makers = {name: node for node in at.nodes.nodes for name in node.results}
    while (node := makers.get(getattr(given, "name", ""))) is not None:
        kind = node.op.split(".")[1]
        if kind not in ("view", *CASTS):
            return kind in POSITIVE
        given = node.args[0]
    return False


def _is_rounded(at: Importer) -> bool:
    """Whether the result of the node is read by casts to BF16 alone, or is BF16 anyway."""
    readers = [node for node in at.nodes.nodes if at.node.name in node.reads]
    metas = at.nodes.metas
    return at.meta.dtype == "bfloat16" or all(
        node.op.startswith("aten._to_copy") and metas[node.name].dtype == "bfloat16" for node in readers
    )
