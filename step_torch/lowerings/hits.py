"""Rows that data chooses: what torch.where finds in a router's choice.

A number of rows that depends on data is no extent of a stream. So functions of single rows go over all of them, and
where they are put back those count that were found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from step.functions import RowSum
from step_torch.importing import Importer
from step_torch.layouts import Dims, Value
from step_torch.lowerings.comparisons import choose
from step_torch.lowerings.elementwise import add
from step_torch.lowerings.routers import Chosen
from step_torch.lowerings.rows import any_of
from step_torch.registry import Options, lowers
from step_torch.sources import Unsupported, supported

ALL = "rows that data chooses go through everything with all others: torch.ops.step.experts sends them to their experts"


@dataclass(frozen=True)
class Hits:
    """The places at which ``chosen`` truths are true: rows (0), entries of these (1), or both (None), by ``part``."""

    chosen: Chosen
    part: int | None = None
    leads = True  # beside other arguments that know themselves how a node is lowered

    @property
    def dims(self) -> Dims:
        """The dimensions of the rows."""
        return self.chosen.dims[:1]

    def value(self, at: Importer) -> Value:
        """Nobody sees the numbers."""
        raise Unsupported("rows that data chooses are counted")

    def lowered(self, at: Importer, lowering: Callable[..., Any], args: Sequence[Any], options: Options) -> Any:
        """The node whose ``args`` have these, for all rows."""
        supported(not options, f"{', '.join(options)} of rows that data chooses")
        match at.node.op.split(".")[1], args:
            case "slice", (_, 1, first, last, *_) if last == first + 1:
                return replace(self, part=first)
            case "select", (_, 1, part):
                return replace(self, part=part)
            case "squeeze", _:
                return self
            case "index", (x, [Hits(part=0)]):
                return Rows(x, self.chosen)
            case "index", (Chosen() as x, [Hits(part=0), Hits(part=1)]):
                return self._entries(at, x)
            case "index_put", (base, [Hits(part=0)], Rows() as rows, *adds):
                return self._put(at, base, rows, adds=adds == [True])
        raise Unsupported("rows that data chooses are read in a way that has no lowering")

    def _entries(self, at: Importer, x: Chosen) -> Rows:
        """What was chosen for each row there: one entry at most."""
        supported(x.selection is self.chosen.selection, "entries of another choice")
        own = choose(at, self.chosen.filled(at, 0), x.entries(at), 0.0, at.dtype)
        stream = own.stream.map(RowSum(out=at.dtype), name=at.name("entry"))
        dims = (*own.dims[:-1], ()) if x.apart else own.dims[:-1]
        return Rows(Value(stream, dims, replace(own.layout, columns=None), at.dtype), self.chosen)

    def _put(self, at: Importer, base: Any, rows: Rows, *, adds: bool) -> Value:
        at.notes[ALL] = None
        there = any_of(at, self.chosen.filled(at, 0), [-1], keepdim=True)
        value = choose(at, there, rows.all, 0.0 if adds else base, at.dtype)
        return add(at, base, value) if adds else value


@dataclass(frozen=True)
class Rows:
    """The rows of ``all`` in which something of ``chosen`` is true."""

    all: Any
    chosen: Chosen

    @property
    def dims(self) -> Dims:
        """The dimensions of all rows."""
        return self.all.dims

    def value(self, at: Importer) -> Value:
        """Nobody sees them by themselves."""
        raise Unsupported("rows that data chooses are read by themselves")

    def lowered(self, at: Importer, lowering: Callable[..., Any], args: Sequence[Any], options: Options) -> Any:
        """A function of single rows of all of them."""
        rows = [place for place, each in enumerate(args) if isinstance(each, Rows)]
        alike = all(args[place].chosen is self.chosen for place in rows)
        supported(alike and lowering.__module__.endswith(ROWS), "rows that data chooses go through it")
        second = 2 if at.node.op == "aten.addmm.default" else 1  # a product sums over the rows of its second matrix
        is_sum = lowering.__module__.endswith("products") and max(rows, default=0) >= second
        supported(not is_sum, "rows that data chooses are summed")
        given = (each.all if isinstance(each, Rows) else each for each in args)
        return replace(self, all=lowering(at, *given, **options))


ROWS = ("elementwise", "unary", "comparisons", "products", "norms")
"""Files of lowerings that see every row by itself."""


@lowers("aten.nonzero.default")
def nonzero(at: Importer, x: Any) -> Hits:
    """Where a router chose something: rows, and entries of these."""
    maker = next((node for node in at.nodes.nodes if at.node.args[0].name in node.results), at.node)
    places = at.values.get(maker.args[0].name) if maker.op == "aten.eq.Scalar" else None
    is_choice = isinstance(x, Chosen) and isinstance(places, Chosen) and places.result == 1 and len(x.dims) == 2
    what = "rows that data chooses have a lowering where what topk gives is compared with one number"
    supported(is_choice, f"{what}: compute all rows, and choose with torch.where(c, x, y)")
    return Hits(x)
