"""Program of one of several cards, which has a group of a model's layers: rows come in, and go out to the next card."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from step import BF16, UINT32, FabricConfig, Graph, Program, Selector, Tile
from step.functions import CacheRows, Max
from step_models.fabrics import fitting
from step_models.weights import blank_tensors
from step_torch import Tiling
from step_torch.batch import Batch
from step_torch.decoding_loops import DecodingLoops
from step_torch.generating import LanguageModel
from step_torch.importing import Importer
from step_torch.layouts import AxisPart, TileLayout, Value
from step_torch.sources import Sources


@dataclass(frozen=True)
class Card:
    """Layers ``first`` to ``last`` of ``model``, without the last; the first card takes tokens, the last one writes
    them."""

    model: LanguageModel
    first: int
    last: int

    @property
    def begins(self) -> bool:
        """Whether tokens come in, which it embeds."""
        return self.first == 0

    @property
    def ends(self) -> bool:
        """Whether tokens go out, those of the largest scores."""
        return self.last == self.model.parts.count

    @property
    def output(self) -> str:
        """The name of its output."""
        return "tokens" if self.ends else "rows"

    def group(self) -> LanguageModel:
        """The model with these layers alone."""
        own = {name: each[self.first : self.last] for name, each in self.model.parts.parameters.items()}
        return replace(self.model, parts=replace(self.model.parts, count=self.last - self.first, parameters=own))

    def program(self, tiling: Tiling, fabric: FabricConfig, *, values: bool = True) -> Program:
        """The program, without what `inputs` has."""
        group, graph = self.group(), Graph("card")
        data = dict(zip(group.nodes.inputs, group.archive.results[0].inputs, strict=True))
        importer = Importer(group.archive, group.nodes, data, group.chosen(tiling, fabric)[0], graph)
        importer.enter()
        with importer.told():
            _Loops(group, importer, 1, 1, values=values, is_drawn=False, with_scores=False).place_card(self)
        return Program(graph, importer.inputs if values else blank_tensors(graph), fitting(graph, fabric))

    def inputs(self, batch: Batch, come: Any, gaps: Any) -> dict[str, Any]:
        """Inputs for the rows of ``batch``, which ``come`` so many cycles behind each other."""
        batch = replace(batch, layers=self.last - self.first, every=not self.ends)
        given = batch.inputs()
        asked = len(given["stop"])
        own = {"more": np.arange(asked)[:, None] < asked - 1, "come": come, "gap": gaps}
        return {name: each for name, each in given.items() if name not in UNREAD} | own


UNREAD = ("prompt", "unused")
"""Inputs of a program that writes by itself."""


class _Loops(DecodingLoops):
    """The loop through the layers, as a whole model has it: what is ``more`` stands in place of what was written."""

    def place_card(self, card: Card) -> None:
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        more = graph.source("more", Selector(1), [self.asked])
        self.goes_on.close(more)
        stop, schedule = self._of_asked("stop", UINT32), self._schedule()
        shape = self.model.nodes.metas[parts.row_in].shape
        ticks = graph.source("gap", Tile(UINT32), [self.steps]).flat_map(CacheRows(1), name="ticks")
        clock = ticks.accum(Max(), name="clock").buffered(self.model.room)
        come = graph.source("come", Tile(UINT32) if card.begins else Tile(BF16, 1, shape[-1]), [self.steps])
        come = clock.zip(come, name="arrived").item_of(1, name="row_now")
        if card.begins:
            ids, positions = self.model.nodes.inputs[:2]
            numbers = {ids: come}
            if any(positions in node.reads for node in parts.entry):
                numbers[positions] = self._of_steps("position", schedule).assume_shape([self.steps])
            at.sources = Sources(at, come, numbers)
            at.lower(parts.entry)
            row = self._row(parts.row_in, self.rows)
        else:
            dims = at.axes(parts.row_in, shape)
            row = Value(come, dims, TileLayout((), None, AxisPart(dims[-1][0], shape[-1])), BF16)
        if card.ends:
            at.sources = Sources(at, stop)
        row = self._layers(row, schedule)
        if not card.ends:
            stop.sink("stopped")
            row.stream.sink("rows")
            return
        at.sources = Sources(at, stop)
        at.values[parts.last] = row
        at.lower(parts.head)
        self._chosen(at.values[self.model.nodes.outputs[0]]).sink("tokens")
