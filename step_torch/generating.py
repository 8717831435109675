"""A language model as a program that writes by itself, on the hardware of one layer.

Two loops: a row goes through the layer as often as there are layers, with weights and caches by the layer's number, and
the token that was chosen becomes the next one. Tokens of the prompt are given instead. What is chosen also says whether
there is a next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from step import BF16, BOOL, UINT32, FabricConfig, Graph, MemoryConfig, Program, Selector, Stream, Tile
from step.errors import InputError
from step.functions import ArgMax, Compare, SelectValid, Where
from step.host.memory import check_fits
from step.library import arg_max
from step.programs.data.inputs import as_data
from step.programs.data.scalars import scalars
from step_models.fabrics import fitting
from step_models.weights import blank_tensors
from step_torch.archive import Archive, read_archive
from step_torch.depths import with_depths
from step_torch.importing import Importer
from step_torch.layouts import TileLayout, Value
from step_torch.nodes import Nodes, nodes_of
from step_torch.rounds import EveryLayer, EveryRow
from step_torch.stacked import Stacked, stacked
from step_torch.tiling import Tiling

SMALL = FabricConfig(matmul_lanes=32, vector_lanes=32, link_bytes=32, memory=MemoryConfig(beat_bytes=32))
"""A fabric for models of a few thousand parameters."""


NO_TOKEN = 2**32 - 1
"""What no model writes."""


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
        if not is_step(nodes):
            raise InputError(f"'{path}' is no step of a language model: step_torch.capture_decoding writes one")
        return cls(archive, nodes, stacked(nodes, path))

    @property
    def room(self) -> int:
        """The most tokens of a text, prompt included: positions have tables, and caches rows, for so many."""
        return self.nodes.metas[self.nodes.inputs[2]].shape[2] + 1

    @property
    def begins(self) -> list[int]:
        """The shortest prompt that is in all layers, where the room is for it: all steps behind it are alike."""
        return [0] * min(self.parts.count + 1, self.room - 1)

    @property
    def vocabulary(self) -> int:
        """The number of tokens that there are."""
        return self.nodes.metas[self.nodes.outputs[0]].shape[-1]

    def before(self, prompt: Sequence[Any]) -> int:
        """The number of tokens of the output `tokens` before those that are written behind ``prompt``."""
        return len(prompt) - 1 if self.parts.count == 1 else 0

    def program(
        self,
        prompt: Sequence[int],
        count: int,
        *,
        end: int | None = None,
        every: bool = False,
        tiling: Tiling | None = None,
        fabric: FabricConfig = SMALL,
        values: bool = True,
    ) -> Program:
        """The program that writes ``count`` tokens behind ``prompt``: its output ``tokens``.

        The token ``end``, where it is written, is the last one: no step is made behind it. ``every``: what the model
        would have written behind each token of the prompt comes first, as it does where there is one layer (`before`).
        Prompt, count, end and every are inputs, so others need no other hardware. Without ``values`` only the time is
        wanted: weights are zeros, which take no memory, and scores decide nothing, so that the fast model has nothing
        to compute; every token behind the prompt is token 0. Raises `InputError` for a text that is longer than the
        room of the model, and for tokens that it has not, and `EnvironmentProblem` for caches that do not fit into the
        memory of this machine.
        """
        prompt = scalars(as_data({"prompt": prompt})["prompt"], UINT32, "prompt").ravel().tolist()
        steps = len(prompt) + count - 1
        if not prompt or count < 1:
            raise InputError("there must be a prompt of at least one token, and at least one token to write")
        if steps > self.room:
            raise InputError(
                f"a prompt of {len(prompt)} tokens and {count} more are {steps} steps, but the caches of "
                f"'{self.archive.path}' have room for {self.room}"
            )
        unknown = [each for each in (*prompt, *([] if end is None else [end])) if not 0 <= each < self.vocabulary]
        if unknown:
            raise InputError(f"there is no token {unknown[0]}: the model has tokens 0 to {self.vocabulary - 1}")
        program = self._program(tiling or Tiling(), fabric, values)
        caches = sum(each.nbytes for name, each in program.inputs.items() if values and "_cache_" in name)
        what = f"a run with caches of {self.room:,} tokens in {self.parts.count} layers"
        check_fits(2 * caches, what, "capture the model with less room")
        every = every or self.parts.count == 1  # rows of one layer have to wait for each other
        # A deadlock shows while rows of the prompt are in all layers, or behind that.
        short = replace(program, inputs={**program.inputs, **_given(self.begins, 2, None, self.parts.count, every)})
        given = {**program.inputs, **_given(prompt, count, end, self.parts.count, every)}
        return replace(program, inputs=given, graph=with_depths(short).graph)

    def _program(self, tiling: Tiling, fabric: FabricConfig, values: bool) -> Program:
        """The program for any prompt, which is not among its inputs, with channels as deep as the fabric says."""
        data = dict(zip(self.nodes.inputs, self.archive.results[0].inputs, strict=True))
        graph = Graph("generate")
        importer = Importer(self.archive, self.nodes, data, tiling, graph)
        importer.enter()
        with importer.told():
            _DecodingLoops(self, importer, values).place()
        return Program(graph, importer.inputs if values else blank_tensors(graph), fitting(graph, fabric))


def is_step(nodes: Nodes) -> bool:
    """Whether it is the decode step of a language model, which has the numbers of a token and of its place."""
    return len(nodes.inputs) >= 4 and [nodes.metas[name].dtype for name in nodes.inputs[:2]] == ["int64", "int64"]


def _rounds(given: int, steps: int, layers: int) -> list[tuple[int, int]]:
    """The token and the layer of every row that goes through the hardware of a layer, in order.

    Tokens of the prompt follow each other, so there are as many rows on their way as there are layers, each in another
    layer: none asks for keys that are not stored yet. The others begin when all before them is done.
    """
    waves = [(wave - layer, layer) for wave in range(given + layers - 1) for layer in reversed(range(layers))]
    behind = [(token, layer) for token in range(given, steps) for layer in range(layers)]
    return [(token, layer) for token, layer in waves if 0 <= token < given] + behind


def _given(prompt: Sequence[int], count: int, end: int | None, layers: int, every: bool) -> dict[str, np.ndarray]:
    """Inputs beside the prompt, which tell a program what to write: entries of every round, and of every row asked.

    Of a round: its ``position`` and ``layer``; whether its row ``enters`` the layers (0; these are ``entering``) or
    comes back (1); whether it goes back (0), ``leaves`` (1) or is dropped; whether the token of a row that enters is
    ``given`` (0) or was chosen (1); whether it is ``asked`` (1) what comes behind it, or not (0, ``quiet``). Of a row
    that is asked: the token that is the ``stop`` of the text, and whether what is chosen is ``unused``.
    """
    length, steps = len(prompt), len(prompt) + count - 1
    token, layer = np.array(_rounds(length, steps, layers)).T
    leaves = layer == layers - 1
    asked = leaves & (every | (token >= length - 1))
    answers = token[asked]
    writes = answers >= length - 1
    return {
        "prompt": np.array(prompt),
        "position": token,
        "layer": layer,
        "enters": (layer > 0).astype(int),
        "entering": layer[:, None] == 0,
        "leaves": np.stack([~leaves, asked], 1),
        "given": (token >= length).astype(int),
        "asked": asked.astype(int),
        "quiet": ~asked[:, None],
        "stop": np.where(writes, NO_TOKEN if end is None else end, NO_TOKEN),
        "unused": ~writes | (answers == steps - 1),
    }


class _DecodingLoops:
    """The two loops of the program, around the nodes of ``model``.

    ``steps`` are the rows that enter the layers, ``asked`` those that leave them.
    """

    def __init__(self, model: LanguageModel, importer: Importer, values: bool) -> None:
        self.model, self.importer, self.values = model, importer, values
        self.rounds, self.steps, self.asked = map(importer.graph.symbol, ("rounds", "steps", "asked_rows"))

    def place(self) -> None:
        """Place all operators."""
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        most = graph.symbol("most_asked")
        goes_on = graph.feedback(Selector(1), [self.asked], name="goes_on")
        back = graph.feedback(Tile(UINT32), [graph.symbol("again")], name="token_back")
        stop, unused = (
            graph.source(name, Tile(dtype), [most]).until(goes_on.stream, name=f"{name}_now").assume_shape([self.asked])
            for name, dtype in (("stop", UINT32), ("unused", BOOL))
        )
        schedule = self._schedule(goes_on.stream)
        prompt = graph.source("prompt", Tile(UINT32), [graph.symbol("length")])
        given = self._of_steps("given", schedule)
        merged = graph.reassemble([prompt, back.stream], given, order="index", name="token_in")
        token = merged.flatten(0, 1, name="token").assume_shape([self.steps])
        ids, positions = self.model.nodes.inputs[:2]
        numbers = {ids: token}
        if any(positions in node.reads for node in parts.entry):
            numbers[positions] = self._of_steps("position", schedule)
        at.sources = EveryRow(at, token, numbers)
        at.lower(parts.entry)
        row = self._layers(self._row(parts.row_in), schedule)
        at.sources = EveryRow(at, stop, {})  # weights of the head, too, come before the row
        at.values[parts.last] = row
        at.lower(parts.head)
        scores = at.value(at.values[self.model.nodes.outputs[0]])
        if scores.layout.loops:  # a large vocabulary comes in tiles, one after the other
            chosen = arg_max(scores.stream, name="chosen")
        else:
            chosen = scores.stream.map(ArgMax(), name="chosen")
        chosen.sink("tokens")
        if not self.values:
            chosen = graph.constant(0, dtype=UINT32, reference=chosen, name="any_token")
        ends = chosen.map(Compare("=="), stop, name="ends")
        goes_on.close(ends.map(SelectValid(), name="next"))
        done = ends.map(Where(), ends, unused, name="done")
        (again,) = chosen.partition(done.map(SelectValid(), name="used"), targets=1, name="token_out")
        back.close(again.assume_shape(back.type.shape))

    def _schedule(self, goes_on: Stream) -> dict[str, Stream]:
        """Inputs for every round [rounds], as far as there is another one: most rounds do not ask for that."""
        graph, most = self.importer.graph, self.importer.graph.symbol("most")
        flags = graph.feedback(Selector(1), [self.rounds], name="another")
        found = dict[str, Stream]()
        for name in ("position", "layer", "enters", "entering", "leaves", "given", "asked", "quiet"):
            is_number, is_single = name in ("position", "layer"), name in ("entering", "quiet")
            element = Tile(UINT32) if is_number else Selector(1 if is_single else 2)
            all_of_it = graph.source(name, element, [most])
            found[name] = all_of_it.until(flags.stream, name=f"{name}_now").assume_shape([self.rounds])
        (always,) = found["quiet"].partition(found["quiet"], targets=1, name="always")
        another = graph.reassemble([always, goes_on], found["asked"], order="index", name="another_each")
        flags.close(another.flatten(0, 1, name="another_round").assume_shape([self.rounds]))
        return found

    def _of_steps(self, name: str, schedule: dict[str, Stream]) -> Stream:
        """The input ``name`` for the rounds in which a row enters."""
        (found,) = schedule[name].partition(schedule["entering"], targets=1, name=f"{name}_of_step")
        return found.assume_shape([self.steps])

    def _row(self, name: str) -> Value:
        value = self.importer.whole_rows(self.importer.values[name], "a row goes through the layers as a whole")
        if value.layout != TileLayout((), None, value.layout.columns):
            raise InputError(f"what goes through the layers is no single row, but {value.layout}")
        return value

    def _layers(self, row: Value, schedule: dict[str, Stream]) -> Value:
        """``row`` [steps] through all layers, each of which is the same hardware."""
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        count = parts.count
        back = graph.feedback(row.stream.element, [graph.symbol("rows_again")], name="rows_back")
        rows = [row.stream, back.stream.buffered(count + 1)]
        merged = graph.reassemble(rows, schedule["enters"], order="index", name="row_in")
        stream = merged.flatten(0, 1, name="row").assume_shape([self.rounds])
        weights = {
            at.values[name].name: [self.model.archive.weights[each] for each in own]
            for name, own in parts.parameters.items()
        }
        position, number = schedule["position"], schedule["layer"]
        numbers = {self.model.nodes.inputs[1]: position}
        at.sources = EveryLayer(at, stream, numbers, count, weights, position, self.model.room, number)
        at.lower(parts.tables)
        at.values[parts.row_in] = Value(stream, row.dims, row.layout, BF16)
        at.lower(parts.layer)
        result = self._row(parts.row_out)
        again, out = result.stream.partition(schedule["leaves"], targets=2, name="row_out")
        back.close(again.assume_shape(back.type.shape))
        return Value(out.assume_shape([self.asked]), result.dims, result.layout, BF16)
