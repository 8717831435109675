"""A captured module as a program: what is loaded, what its joins are, and how close it is to torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from step import Buffer, FabricConfig, Graph, Program, interpret
from step.errors import InputError
from step_models.fabrics import PUBLISHED, fitting
from step_torch.archive import Archive, read_archive
from step_torch.choosing import chosen, products
from step_torch.depths import with_depths
from step_torch.given import as_captured
from step_torch.importing import Importer
from step_torch.joins import Join
from step_torch.nodes import Nodes, nodes_of
from step_torch.sources import STREAMS
from step_torch.tiling import Tiling

ALLOWED = 1.1
"""How many times the error of torch in BF16 the error of an import may be."""


@dataclass(frozen=True)
class Check:
    """Errors of an import: root-mean-square errors to float64, in parts of the largest output.

    ``error``: of the program.
    ``torch_error``: of torch in BF16.

    >>> step_torch.Check(error=4.0e-4, torch_error=4.2e-4).passed
    True
    """

    error: float
    torch_error: float

    @property
    def passed(self) -> bool:
        """Whether the program is as good as torch, within `ALLOWED`."""
        return self.error <= ALLOWED * self.torch_error

    def __str__(self) -> str:
        return f"rms error to float64 {self.error:.1e}, of torch in BF16 {self.torch_error:.1e}"


@dataclass(frozen=True)
class Imported:
    """Captured module as a program; `load` makes it.

    ``archive``: the file.
    ``nodes``: operators of torch, each of which was lowered.
    ``tiling``: the `Tiling` that was asked for, with what was chosen.
    ``lowered``: the program, before depths of channels are found (`program`).
    ``notes``: choices of tiles that were made for the user, and why.

    >>> model = step_torch.load("tests/step_torch/captured/page.pt2")
    >>> model.program, model.host
    (<program page: 56 operators, 9 inputs>, ['x: bfloat16 [1, 16, 32]'])
    """

    archive: Archive
    nodes: Nodes
    tiling: Tiling
    lowered: Program
    notes: tuple[str, ...]
    """Choices of tiles that were made for the user, and why."""
    _joins: tuple[Join, ...]
    _is_captured: bool

    @cached_property
    def program(self) -> Program:
        """The program, with depths of channels with which it does not deadlock: they are found when it is asked for."""
        return with_depths(self.lowered, routed=any(node.op == "step.experts.default" for node in self.nodes.nodes))

    def joins(self) -> tuple[Join, ...]:
        """All converters between layouts, in order, with their bytes and why they are there."""
        return self._joins

    @property
    def intermediate_bytes(self) -> int:
        """Bytes of the results of all operators of torch."""
        made = (self.nodes.metas.get(name) for node in self.nodes.nodes for name in node.results)
        return sum(prod(each.shape) * STREAMS[each.dtype].bytes for each in made if each and each.dtype in STREAMS)

    @property
    def host(self) -> list[str]:
        """Inputs from the host, as ``x: bfloat16 [1, 16, 64]``."""
        metas = ((name, self.nodes.metas[name]) for name in self.nodes.inputs)
        return [f"{name}: {meta.dtype} {list(meta.shape)}" for name, meta in metas]

    def check(self) -> Check:
        """Run the program on the interpreter, and compare with what torch made of the same data, for every sample.

        Raises `InputError` where the file has no results, or the data is not that of the capture.
        """
        path = self.archive.path
        if not self.archive.results:
            raise InputError(f"'{path}' has no results of torch to compare with: step_torch.capture stores them")
        if not self._is_captured:
            raise InputError("the inputs are not those of the capture, and torch's results are of these")
        mine, theirs, largest, count = 0.0, 0.0, 0.0, 0
        for results in self.archive.results:
            data = dict(zip(self.nodes.inputs, results.inputs, strict=True))
            program, _, _ = _lowered(self.archive, self.nodes, data, self.tiling, self.lowered.name)
            run = interpret(program.graph, program.inputs)
            for number, (exact, rounded) in enumerate(zip(results.float64, results.bf16, strict=True)):
                name = self.nodes.output_names[number]
                tiles = [np.asarray(each.value, np.float64) for each in run.outputs[name] if each.has_value]
                output = np.concatenate(tiles).reshape(exact.shape)
                mine += _squares(output, exact)
                theirs += _squares(rounded.astype(np.float64), exact)
                largest = max(largest, float(np.abs(exact[np.isfinite(exact)]).max(initial=0)))
                count += exact.size
        return Check((mine / count) ** 0.5 / (largest or 1), (theirs / count) ** 0.5 / (largest or 1))


def _squares(output: np.ndarray, exact: np.ndarray) -> float:
    """Sum of the squares of errors; the same infinity, or NaN, is none."""
    with np.errstate(invalid="ignore"):
        same = (output == exact) | (np.isnan(output) & np.isnan(exact))
        return float(np.where(same, 0, (output - exact.astype(np.float64)) ** 2).sum())


def load(
    path: Path | str,
    *,
    inputs: Mapping[str, Any] | Path | str | None = None,
    tiling: Tiling | None = None,
    name: str | None = None,
) -> Imported:
    """Import of a captured module; torch is not needed for it.

    ``path``: a .pt2 file of `capture`.
    ``inputs``: data by name, or an .npz file, in the place of that of the capture; it is rounded to its formats.
    Dynamic axes may have other extents.
    ``tiling``: how large tiles are.
    ``name``: name of the program, by default that of the file.

    Raises `FormatError` for files that can not be read, and `InputError` for data that does not fit, and with a list of
    all operators without a lowering.

    >>> step_torch.load("tests/step_torch/captured/page.pt2", name="gated").program
    <program gated: 56 operators, 9 inputs>
    """
    archive, tiling = read_archive(path), tiling or Tiling()
    given = as_captured(archive, inputs)
    nodes = nodes_of(archive, {key: each.shape for key, each in given.items()})
    captured = archive.results[0].inputs if archive.results else []
    data = {**dict(zip(nodes.inputs, captured, strict=False)), **given}
    tiling, note = chosen(tiling, products(nodes, archive.weights), PUBLISHED)
    program, notes, joins = _lowered(archive, nodes, data, tiling, name or archive.path.stem)
    return Imported(archive, nodes, tiling, program, (*([note] if note else []), *notes), joins, not given)


def _with_room(fabric: FabricConfig, graph: Graph) -> FabricConfig:
    """``fabric`` with on-chip memory for as many of the largest buffer of ``graph`` as share a scratchpad."""
    pages = 1
    for buffer in (each.element for each in graph.streams()):
        if isinstance(buffer, Buffer) and buffer.tile.is_static and all(each.is_static for each in buffer.shape):
            words = -(-int(buffer.tile.bytes) // fabric.link_bytes)
            slots = 1 << (fabric.page_bytes // fabric.link_bytes // words).bit_length() - 1
            pages = max(pages, -(-prod(map(int, buffer.shape)) // slots))
    size = pages * fabric.page_bytes * fabric.scratchpad_ports
    return replace(fabric, scratchpad_bytes=max(size, fabric.scratchpad_bytes))


def _lowered(
    archive: Archive, nodes: Nodes, data: dict[str, np.ndarray], tiling: Tiling, name: str
) -> tuple[Program, tuple[str, ...], tuple[Join, ...]]:
    """The program of ``nodes`` on ``data``, notes on it, and its joins."""
    importer = Importer(archive, nodes, data, tiling, Graph(re.sub(r"\W", "_", name)))
    importer.run()
    program = Program(importer.graph, importer.inputs, _with_room(fitting(importer.graph), importer.graph))
    return program, tuple(importer.notes), tuple(importer.joiner.placed)
