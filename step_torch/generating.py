"""A language model as a program that writes by itself, on the hardware of one layer.

Two loops: a row goes through the layer as often as there are layers, with weights and caches by the layer's number, and
the token that was chosen becomes the next one. Tokens of the prompt are given instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from step import BF16, UINT32, FabricConfig, Graph, MemoryConfig, Program, Stream, Tile
from step.errors import InputError
from step.functions import ArgMax, Compare, Where
from step.library import arg_max
from step_models.fabrics import fitting
from step_torch.archive import Archive, read_archive
from step_torch.depths import with_depths
from step_torch.importing import Importer, Tiling
from step_torch.layouts import Layout, Value
from step_torch.nodes import Nodes, nodes_of
from step_torch.rounds import EveryLayer, EveryRow
from step_torch.stacked import Stacked, stacked

SMALL = FabricConfig(matmul_lanes=32, vector_lanes=32, link_bytes=32, memory=MemoryConfig(beat_bytes=32))
"""A fabric for models of a few thousand parameters."""


STEPS = 8
"""The steps of a program are a multiple of these."""

SHORT = 3
"""Steps of the program for which depths are found."""


@dataclass(frozen=True)
class LanguageModel:
    """A decode step that `step_torch.capture_decoding` wrote, in its parts."""

    archive: Archive
    nodes: Nodes
    parts: Stacked

    @classmethod
    def load(cls, path: Path | str) -> LanguageModel:
        """Read ``path`` (.pt2); raises what `step_torch.load` raises, and `InputError` for what is no such step."""
        archive = read_archive(path)
        nodes = nodes_of(archive)
        metas = [nodes.metas[name] for name in nodes.inputs]
        if len(metas) < 4 or [each.dtype for each in metas[:2]] != ["int64", "int64"]:
            raise InputError(f"'{path}' is no step of a language model: step_torch.capture_decoding writes one")
        return cls(archive, nodes, stacked(nodes, path))

    @property
    def room(self) -> int:
        """How many tokens a text may have, prompt included: positions have tables, and caches rows, for so many."""
        return self.nodes.metas[self.nodes.inputs[2]].shape[2] + 1

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return self.nodes.metas[self.nodes.outputs[0]].shape[-1]

    def program(
        self, prompt: Sequence[int], count: int, *, tiling: Tiling | None = None, fabric: FabricConfig = SMALL
    ) -> Program:
        """The program that writes ``count`` tokens behind ``prompt``; its output ``tokens`` has one for every step.

        The step behind token i of the prompt gives what the model would have written there. The prompt and its length
        are inputs, and steps come in multiples of `STEPS`, so that another prompt needs no other hardware. Raises
        `InputError` for a text that is longer than the room of the model, and for tokens that it has not.
        """
        steps = len(prompt) + count - 1
        if not prompt or count < 1:
            raise InputError("there must be a prompt of at least one token, and at least one token to write")
        if steps > self.room:
            raise InputError(
                f"a prompt of {len(prompt)} tokens and {count} more are {steps} steps, but the caches of "
                f"'{self.archive.path}' have room for {self.room}"
            )
        unknown = [each for each in prompt if not 0 <= each < self.vocabulary]
        if unknown:
            raise InputError(f"there is no token {unknown[0]}: the model has tokens 0 to {self.vocabulary - 1}")
        whole = min(self.room, -(-steps // STEPS) * STEPS)
        shortest = self._program(prompt[:1], min(SHORT, whole), tiling or Tiling(), fabric)
        program = self._program(prompt, whole, tiling or Tiling(), fabric)
        # A deadlock shows in the first steps, as all are alike.
        return replace(program, graph=replace(program.graph, depths=with_depths(shortest).graph.depths))

    def _program(self, prompt: Sequence[int], steps: int, tiling: Tiling, fabric: FabricConfig) -> Program:
        """The program of so many steps, with channels as deep as the fabric says."""
        data = dict(zip(self.nodes.inputs, self.archive.results[0].inputs, strict=True))
        graph = Graph("generate")
        importer = Importer(self.archive, self.nodes, data, tiling, graph)
        importer.enter()
        with importer.told():
            _Loops(self, importer, steps).place()
        padded = [*prompt, *[0] * (steps - len(prompt))]
        given = {"prompt": np.array(padded), "prompt_length": np.array([len(prompt)]), "start": np.array([0])}
        return Program(graph, {**importer.inputs, **given}, fitting(graph, fabric))


@dataclass
class _Loops:
    """The two loops of the program, around the nodes of ``model``."""

    model: LanguageModel
    importer: Importer
    steps: int

    def place(self) -> None:
        """Place all operators."""
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        tokens = graph.feedback(Tile(UINT32), [self.steps - 1], name="tokens_back") if self.steps > 1 else None
        step, token = self._token(None if tokens is None else tokens.stream)
        ids, positions = self.model.nodes.inputs[:2]
        at.sources = EveryRow(at, token, {ids: token, positions: step})
        at.lower(parts.entry)
        row = self._row(parts.row_in)
        row = self._layers(row)
        at.sources = EveryRow(at, row.stream, {})
        at.values[parts.last] = row
        at.lower(parts.head)
        scores = at.value(at.values[self.model.nodes.outputs[0]])
        if scores.layout.loops:  # a large vocabulary comes in tiles, one after the other
            chosen = arg_max(scores.stream, name="chosen")
        else:
            chosen = scores.stream.map(ArgMax(), name="chosen")
        chosen.sink("tokens")
        if tokens is not None:
            leave = graph.turns(2, [0] * (self.steps - 1) + [1], name="leave_token")
            again, rest = chosen.partition(leave, targets=2, name="token_out")
            tokens.close(again.assume_shape([self.steps - 1]))
            rest.sink("last")

    def _token(self, back: Stream | None) -> tuple[Stream, Stream]:
        """The number of every step and its token: of the prompt, or the one that was chosen before."""
        graph, steps = self.importer.graph, self.steps
        given = graph.source("prompt", Tile(UINT32), [steps])
        token = graph.source("start", Tile(UINT32), [1])
        if back is not None:
            enter = graph.turns(2, [0] + [1] * (steps - 1), name="enter_token")
            merged = graph.reassemble([token, back], enter, order="index", name="token_in")
            token = merged.flatten(0, 1, name="token_before").assume_shape([steps])
        step = graph.count(reference=token, name="step")
        length = graph.source("prompt_length", Tile(UINT32), [1]).repeat(steps, name="length_each")
        forced = step.map(Compare("<"), length.flatten(0, 1, name="length"), name="forced")
        return step, forced.map(Where(), given, token, name="token")

    def _row(self, name: str) -> Value:
        value = self.importer.whole_rows(self.importer.values[name], "a row goes through the layers as a whole")
        if value.layout != Layout((), None, value.layout.columns):
            raise InputError(f"what goes through the layers is no single row, but {value.layout}")
        return value

    def _layers(self, row: Value) -> Value:
        """``row`` [steps] through all layers, each of which is the same hardware."""
        parts, at, graph, steps = self.model.parts, self.importer, self.importer.graph, self.steps
        count, stream = parts.count, row.stream
        rounds = steps * count
        back = None
        if count > 1:
            back = graph.feedback(stream.element, [rounds - steps], name="rows_back")
            enter = graph.turns(2, [0] + [1] * (count - 1), dims=[rounds], name="enter_layer")
            merged = graph.reassemble([stream, back.stream], enter, order="index", name="row_in")
            stream = merged.flatten(0, 1, name="row").assume_shape([rounds])
        position = graph.generate(
            Tile(UINT32), [each for each in range(steps) for _ in range(count)], reference=stream, name="position"
        )
        weights = {
            at.values[name].name: [self.model.archive.weights[each] for each in own]
            for name, own in parts.parameters.items()
        }
        numbers = {self.model.nodes.inputs[1]: position}
        at.sources = EveryLayer(at, stream, numbers, count, weights, position, self.model.room)
        at.lower(parts.tables)
        at.values[parts.row_in] = Value(stream, row.dims, row.layout, BF16)
        at.lower(parts.layer)
        result = self._row(parts.row_out)
        if back is None:
            return result
        leave = graph.turns(2, [0] * (count - 1) + [1], dims=[rounds], name="leave_layer")
        again, out = result.stream.partition(leave, targets=2, name="row_out")
        back.close(again.assume_shape([rounds - steps]))
        return Value(out.assume_shape([steps]), result.dims, result.layout, BF16)
