"""A language model as a program that writes by itself, on the hardware of one layer.

Two loops: a row goes through the layer as often as there are layers, with weights and caches by the layer's number, and
the token that was chosen becomes the next one. Tokens of the prompt are given instead. What is chosen also says whether
there is a next step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import step
from step import UINT32, FabricConfig, Graph, MemoryConfig, Program, Run
from step.errors import InputError
from step.host.memory import check_fits
from step.programs.data.inputs import as_data
from step.programs.data.scalars import scalars
from step_models.fabrics import fitting
from step_models.weights import blank_tensors
from step_torch.archive import Archive, read_archive
from step_torch.batch import Batch, Request
from step_torch.choosing import chosen, products
from step_torch.decoding_loops import DecodingLoops
from step_torch.depths import with_depths
from step_torch.importing import Importer
from step_torch.joined import of_same_rows
from step_torch.nodes import Nodes, nodes_of
from step_torch.sampling import Sampling
from step_torch.stacked import Stacked, stacked
from step_torch.tiling import Tiling

SMALL = FabricConfig(matmul_lanes=32, vector_lanes=32, link_bytes=32, memory=MemoryConfig(beat_bytes=32))
"""A fabric for models of a few thousand parameters."""

SHOWING = 2
"""Layers whose run shows the depths of channels that any number of equal layers needs.

With two, each round of a row through a layer waits for one of the two before it. With more, it waits for an earlier
one, whose row lies in a buffer with room for all. A deadlock is a circle of waits, and channels are short: one of many
layers is there with two, while rows of the prompt are in both, or behind that.
"""

SHOWING_SHARED = 6
"""The same where products share units: they alternate in as many rounds as there are of them."""


@dataclass(frozen=True)
class LanguageModel:
    """A decode step that `step_torch.capture_decoding` wrote, in its parts."""

    archive: Archive
    nodes: Nodes
    parts: Stacked
    room: int
    """The most tokens of a text, prompt included: positions have tables, and caches rows, for so many."""

    @classmethod
    def load(cls, path: Path | str, *, room: int | None = None) -> LanguageModel:
        """Read ``path`` (.pt2), with the ``room`` of the capture or less.

        Raises what `step_torch.load` raises, and `InputError` for what is no such step, or has not that much room.
        """
        archive = read_archive(path)
        nodes = nodes_of(archive)
        if not is_step(nodes):
            raise InputError(f"'{path}' is no step of a language model: step_torch.capture_decoding writes one")
        most = int(archive.results[0].inputs[1].item()) + 1
        if room is not None and not 2 <= room <= most:
            raise InputError(f"the room must be 2 to {most}, for which '{path}' was captured, not {room}")
        return cls(archive, nodes, stacked(nodes, path), room or most)

    def begins(self, chunk: int = 1) -> list[int]:
        """The shortest prompt that is in all layers, where the room is for it: all steps behind it are alike."""
        return [0] * min((self.parts.count + 1) * chunk, self.room - 1)

    @property
    def vocabulary(self) -> int:
        """The number of tokens that there are."""
        return self.nodes.metas[self.nodes.outputs[0]].shape[-1]

    def batch(
        self,
        prompt: Sequence[Any],
        count: int | Sequence[int],
        *,
        slots: int | None = None,
        past: int = 0,
        every: bool = False,
        chunk: int = 1,
        shared: bool = False,
    ) -> Batch:
        """The order of rows for one prompt, or for several, which share so many ``slots``: by default one for each, or
        one where layers keep states.

        ``chunk``: the most rows of a prompt in a tile. ``shared``: as the tiling of the program has it. Raises what
        `program` raises for prompts, counts and slots.
        """
        prompts = prompt if len(prompt) > 0 and not np.isscalar(prompt[0]) else [prompt]
        counts = count if isinstance(count, Sequence) else [count] * len(prompts)
        if len(counts) != len(prompts):
            raise InputError(f"there are {len(prompts)} prompts, and {len(counts)} numbers of tokens")
        requests = [self._request(*each, past) for each in zip(prompts, counts, strict=True)]
        alone = self.parts.count == 1  # rows of one layer have to wait for each other
        slots = slots or (1 if self.parts.states else len(requests))
        if self.parts.states and slots > 1:
            raise InputError(f"layers of '{self.archive.path}' keep states, of one text at a time: slots must be 1")
        if chunk > 1 and slots > 1:
            raise InputError(f"a chunk of {chunk} rows is of one prompt: there must be one slot, not {slots}")
        if chunk > 1 and self.parts.states:
            raise InputError(f"a model with recurrent state takes row by row: chunk must be 1, not {chunk}")
        if chunk > 1 and every:
            raise InputError(f"what comes behind every token is asked row by row: chunk must be 1, not {chunk}")
        products = len(of_same_rows(self.parts.layer)) if shared else 0
        return Batch(requests, self.parts.count, slots, every or alone, chunk, products)

    def _request(self, prompt: Sequence[int], count: int, past: int) -> Request:
        tokens = scalars(as_data({"prompt": prompt})["prompt"], UINT32, "prompt").ravel().tolist()
        request = Request(tokens, count, past)
        if not tokens or count < 1:
            raise InputError("there must be a prompt of at least one token, and at least one token to write")
        if past + request.steps > self.room:
            before = f" behind {past} in the caches" if past else ""
            raise InputError(
                f"a prompt of {len(tokens)} tokens and {count} more are {request.steps} steps{before}, but the caches "
                f"of '{self.archive.path}' have room for {self.room}"
            )
        self._check(tokens)
        return request

    def _check(self, tokens: Sequence[int]) -> None:
        unknown = [each for each in tokens if not 0 <= each < self.vocabulary]
        if unknown:
            raise InputError(f"there is no token {unknown[0]}: the model has tokens 0 to {self.vocabulary - 1}")

    def program(
        self,
        prompt: Sequence[Any],
        count: int | Sequence[int],
        *,
        end: int | None = None,
        slots: int | None = None,
        every: bool = False,
        chunk: int = 1,
        sampling: Sampling | None = None,
        past: int = 0,
        caches: Mapping[str, Any] = MappingProxyType({}),
        scores: bool = False,
        tiling: Tiling | None = None,
        fabric: FabricConfig = SMALL,
        values: bool = True,
    ) -> Program:
        """The program that writes ``count`` tokens behind ``prompt``: its output ``tokens``.

        ``prompt``: tokens, or several lists of them, each with a count of its own where there are several.
        ``end``: the token that is the last one where it is written: no step is made behind it; of several texts, where
        all of them have ended.
        ``slots``: texts that are on the hardware at a time, in rows of one tile, for which weights are read once;
        others wait until one is done (`batch` has the places of each in ``tokens``).
        ``every``: what the model would have written behind each token of the prompt comes first, as it does where there
        is one layer.
        ``chunk``: so many tokens of a prompt go through a layer in one tile, for which weights are read once; what is
        written goes row by row, on the same hardware.
        ``sampling``: tokens are drawn; None: each is the one of the largest score.
        ``past``, ``caches``: so many tokens before the prompt are in these caches, which are outputs of a run.
        ``scores``: they are an output, too (see `scores`).
        ``values``: without them only the time is wanted: weights are zeros, which take no memory, and scores decide
        nothing, so that the fast model has nothing to compute; every token behind the prompt is token 0.

        All but slots, chunk, scores, values and whether there is a sampling are inputs: others need no other hardware.

        Raises `InputError` for a text that is longer than the room of the model, for tokens that it has not, and for
        chunks of several texts at a time, and `EnvironmentProblem` for caches that do not fit into the memory of this
        machine.
        """
        tiling = tiling or Tiling()
        batch = self.batch(prompt, count, slots=slots, past=past, every=every, chunk=chunk, shared=tiling.shared)
        self._check([] if end is None else [end])
        kind = {"values": values, "is_drawn": sampling is not None, "with_scores": scores}
        program = self._program(tiling, fabric, batch.slots, chunk, **kind)
        held = sum(each.nbytes for name, each in program.inputs.items() if values and "_cache_" in name)
        what = f"a run with caches of {self.room:,} tokens in {self.parts.count} layers"
        check_fits(2 * held, what, "capture the model with less room")
        short = self.first(SHOWING_SHARED if tiling.shared else SHOWING)
        begins = replace(batch, requests=[Request(short.begins(chunk), 2)] * batch.slots, layers=short.parts.count)
        shown = program if short is self else short._program(tiling, fabric, batch.slots, chunk, **kind)
        shown = replace(shown, inputs={**shown.inputs, **begins.inputs(None, sampling)})
        given = {**program.inputs, **caches, **batch.inputs(end, sampling)}
        graph = replace(program.graph, depths=with_depths(shown).graph.depths)
        return replace(program, inputs=given, graph=graph)

    def first(self, layers: int) -> LanguageModel:
        """The model with so many of its layers, of which each is one that repeats."""
        if self.parts.count <= layers:
            return self
        own = {name: each[:layers] for name, each in self.parts.parameters.items()}
        return replace(self, parts=replace(self.parts, count=layers, parameters=own))

    def chosen(self, tiling: Tiling | None = None, fabric: FabricConfig = SMALL) -> tuple[Tiling, str]:
        """``tiling`` with what it leaves open, as `program` has it on ``fabric``, and a note on that."""
        return chosen(tiling or Tiling(), products(self.nodes, self.archive.weights), fabric)

    def scores(self, run: Run) -> np.ndarray:
        """Scores ``[tokens, vocabulary]`` of the output `tokens`, of a run with ``scores``."""
        found = np.asarray(run.outputs["scores"])
        if found.ndim > 3:  # a large vocabulary comes in tiles
            found = np.concatenate(np.moveaxis(found, 1, 0), axis=-1)
        return found.reshape(-1, self.vocabulary).astype(np.float32)

    def _program(self, tiling: Tiling, fabric: FabricConfig, slots: int, chunk: int, **kind: bool) -> Program:
        """The program for any prompt, which is not among its inputs, with channels as deep as the fabric says."""
        data = dict(zip(self.nodes.inputs, self.archive.results[0].inputs, strict=True))
        graph, (tiling, _) = Graph("generate"), self.chosen(tiling, fabric)
        importer = Importer(self.archive, self.nodes, data, tiling, graph)
        importer.enter()
        with importer.told():
            DecodingLoops(self, importer, slots, chunk, **kind).place()
        if chunk > 1:
            fabric = replace(fabric, dynamic_rows=chunk)
        return Program(graph, importer.inputs if kind["values"] else blank_tensors(graph), fitting(graph, fabric))


def run(program: Program, backend: str, **options: Any) -> Run:
    """A run of ``program`` with the values that decide what is written."""
    if backend == "approx":
        options["values"] = "all"
    return step.run(program, backend, **options)


def is_step(nodes: Nodes) -> bool:
    """Whether it is the decode step of a language model, which has the numbers of a token and of its place."""
    return len(nodes.inputs) >= 3 and [nodes.metas[name].dtype for name in nodes.inputs[:2]] == ["int64", "int64"]
