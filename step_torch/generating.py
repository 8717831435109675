"""A language model as a program that writes by itself, on the hardware of one layer.

Two loops: a row goes through the layer as often as there are layers, with weights and caches by the layer's number, and
the token that was chosen becomes the next one. Tokens of the prompt are given instead. What is chosen also says whether
there is a next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from step import BF16, BOOL, UINT32, Dim, FabricConfig, Graph, MemoryConfig, Program, Selector, Stream, Tile
from step.errors import InputError
from step.functions import ArgMax, Compare, SelectValid, Where
from step.host.memory import check_fits
from step.library import arg_max
from step_models.fabrics import fitting
from step_models.weights import blank_tensors
from step_torch.archive import Archive, read_archive
from step_torch.depths import with_depths
from step_torch.importing import Importer, Tiling
from step_torch.layouts import Layout, Value
from step_torch.nodes import Nodes, nodes_of
from step_torch.rounds import EveryLayer, EveryRow
from step_torch.stacked import Stacked, stacked

SMALL = FabricConfig(matmul_lanes=32, vector_lanes=32, link_bytes=32, memory=MemoryConfig(beat_bytes=32))
"""A fabric for models of a few thousand parameters."""


NO_TOKEN = 2**32 - 1
"""What no model writes."""

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
        self,
        prompt: Sequence[int],
        count: int,
        *,
        end: int | None = None,
        tiling: Tiling | None = None,
        fabric: FabricConfig = SMALL,
        values: bool = True,
    ) -> Program:
        """The program that writes ``count`` tokens behind ``prompt``; its output ``tokens`` has one for every step.

        The step behind token i of the prompt gives what the model would have written there. The token ``end``, where it
        is written, is the last one: no step is made behind it. Prompt, count and end are inputs, so others need no
        other hardware. Without ``values`` only the time is wanted: weights are zeros, which take no memory, and scores
        decide nothing, so that the fast model has nothing to compute; every token behind the prompt is token 0. Raises
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
        unknown = [each for each in (*prompt, *([] if end is None else [end])) if not 0 <= each < self.vocabulary]
        if unknown:
            raise InputError(f"there is no token {unknown[0]}: the model has tokens 0 to {self.vocabulary - 1}")
        program = self._program(tiling or Tiling(), fabric, values)
        caches = sum(each.nbytes for name, each in program.inputs.items() if values and "_cache_" in name)
        check_fits(
            2 * caches,
            f"a run with caches of {self.room:,} tokens in {self.parts.count} layers",
            "capture the model with less room",
        )
        # A deadlock shows in the first steps, as all are alike.
        short = replace(program, inputs={**program.inputs, **_given(prompt[:1], min(SHORT, self.room), None)})
        given = {**program.inputs, **_given(prompt, count, end)}
        return replace(program, inputs=given, graph=with_depths(short).graph)

    def _program(self, tiling: Tiling, fabric: FabricConfig, values: bool) -> Program:
        """The program for any prompt, which is not among its inputs, with channels as deep as the fabric says."""
        data = dict(zip(self.nodes.inputs, self.archive.results[0].inputs, strict=True))
        graph = Graph("generate")
        importer = Importer(self.archive, self.nodes, data, tiling, graph)
        importer.enter()
        with importer.told():
            _Loops(self, importer, values).place()
        return Program(graph, importer.inputs if values else blank_tensors(graph), fitting(graph, fabric))


def _given(prompt: Sequence[int], count: int, end: int | None) -> dict[str, np.ndarray]:
    """What tells a program what to write: an entry for each step, but of the prompt.

    ``enter``: whether its token is the next one of the prompt (0), or the one that was chosen before (1). ``stop``: the
    token that ends the text there. ``unused``: that nobody goes on with what is chosen.
    """
    given, steps = len(prompt), len(prompt) + count - 1
    writes = np.arange(steps) >= given - 1
    unused = ~writes
    unused[-1] = True
    return {
        "prompt": np.array(prompt),
        "enter_token": np.where(np.arange(steps) < given, 0, 1),
        "stop": np.where(writes, NO_TOKEN if end is None else end, NO_TOKEN),
        "unused": unused,
    }


@dataclass
class _Loops:
    """The two loops of the program, around the nodes of ``model``."""

    model: LanguageModel
    importer: Importer
    values: bool
    steps: Dim = field(init=False)

    def __post_init__(self) -> None:
        self.steps = self.importer.graph.symbol("steps")

    def place(self) -> None:
        """Place all operators."""
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        most = graph.symbol("most")
        goes_on = graph.feedback(Selector(1), [self.steps], name="goes_on")
        back = graph.feedback(Tile(UINT32), [graph.symbol("again")], name="token_back")

        def of_a_step(stream: Stream) -> Stream:
            return stream.until(goes_on.stream, name=f"{stream}_of_step").assume_shape([self.steps])

        prompt = graph.source("prompt", Tile(UINT32), [graph.symbol("length")])
        enter = of_a_step(graph.selectors("enter_token", 2, [most]))
        stop, unused = (
            of_a_step(graph.source(name, Tile(dtype), [most])) for name, dtype in (("stop", UINT32), ("unused", BOOL))
        )
        merged = graph.reassemble([prompt, back.stream], enter, order="index", name="token_in")
        token = merged.flatten(0, 1, name="token").assume_shape([self.steps])
        step = graph.count(reference=token, name="step")
        ids, positions = self.model.nodes.inputs[:2]
        at.sources = EveryRow(at, token, {ids: token, positions: step})
        at.lower(parts.entry)
        row = self._layers(self._row(parts.row_in), step)
        at.sources = EveryRow(at, step, {})  # weights of the head, too, come before the row
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
        used = ends.map(Where(), ends, unused, name="unused_now").map(SelectValid(), name="used")
        (again,) = chosen.partition(used, targets=1, name="token_out")
        back.close(again.assume_shape(back.type.shape))

    def _row(self, name: str) -> Value:
        value = self.importer.whole_rows(self.importer.values[name], "a row goes through the layers as a whole")
        if value.layout != Layout((), None, value.layout.columns):
            raise InputError(f"what goes through the layers is no single row, but {value.layout}")
        return value

    def _layers(self, row: Value, step: Stream) -> Value:
        """``row`` [steps] through all layers, each of which is the same hardware."""
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        count, stream, position, back = parts.count, row.stream, step, None
        if count > 1:
            back = graph.feedback(stream.element, [self.steps * (count - 1)], name="rows_back")
            enter = self._turns([0] + [1] * (count - 1), step, "enter_layer")
            merged = graph.reassemble([stream, back.stream], enter, order="index", name="row_in")
            stream = merged.flatten(0, 1, name="row").assume_shape([self.steps * count])
            position = step.repeat(count, name="position_each").flatten(0, 1, name="position")
        weights = {
            at.values[name].name: [self.model.archive.weights[each] for each in own]
            for name, own in parts.parameters.items()
        }
        numbers = {self.model.nodes.inputs[1]: position}
        layers = graph.generate(Tile(UINT32), range(count), dims=[count], reference=step, name="layers")
        number = layers.flatten(0, 1, name="layer")
        at.sources = EveryLayer(at, stream, numbers, count, weights, position, self.model.room, number)
        at.lower(parts.tables)
        at.values[parts.row_in] = Value(stream, row.dims, row.layout, BF16)
        at.lower(parts.layer)
        result = self._row(parts.row_out)
        if back is None:
            return result
        leave = self._turns([0] * (count - 1) + [1], step, "leave_layer")
        again, out = result.stream.partition(leave, targets=2, name="row_out")
        back.close(again.assume_shape(back.type.shape))
        return Value(out.assume_shape([self.steps]), result.dims, result.layout, BF16)

    def _turns(self, targets: Sequence[int], step: Stream, name: str) -> Stream:
        """Selectors of two ``targets`` in turn, in every step."""
        turns = self.importer.graph.turns(2, targets, dims=[len(targets)], reference=step, name=f"{name}_each")
        return turns.flatten(0, 1, name=name)
