"""Processor time from a `.pt2` of StreamTensor's models, with all of their layers, to a program and to its Verilog."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from experiments.rows import ROOT, Row, digest
from experiments.streamtensor import models, points
from experiments.streamtensor.models import MODELS
from experiments.streamtensor.points import MEGAHERTZ, program_of
from experiments.work import Experiment
from hw.design.emit import emit
from step.programs.prepare import prepare
from step_torch.generating import LanguageModel

PROMPT, COUNT = (0, 0, 0), 2
"""A prompt, and tokens that are written behind it: other texts need no other hardware."""


MAPPING = "fast"
NARROWER = dict.fromkeys(("qwen", "gemma"), "narrow")
"""Mapping with fewer columns of a tile of these, so that those of a product are whole links: others no value of Verilog
holds."""


@dataclass(frozen=True)
class Point:
    """A model of `MODELS`, in its full size."""

    name: str


def compiled() -> Iterator[Point]:
    """All models."""
    return map(Point, MODELS)


def measured(point: Point) -> dict[str, object]:
    """Seconds of processor time of this process and its tools, without anything that is kept from before."""
    shape = MODELS[point.name]
    path = replace(shape, captured=shape.layers).made()
    with tempfile.TemporaryDirectory() as folder, patch.dict("os.environ", STEP_CACHE=folder):
        start = _seconds()
        model = LanguageModel.load(path)
        program = program_of(model, NARROWER.get(point.name, MAPPING), MEGAHERTZ, PROMPT, COUNT)
        imported = _seconds()
        design = emit(prepare(program).netlist, Path(folder) / "design", probes=False)
        written = _seconds()
    return {
        "layers": model.parts.count,
        "megabytes": round(path.stat().st_size / 1e6),
        "operators": len(program.graph.nodes),
        "program_seconds": round(imported - start, 1),
        "files": len(design.files),
        "lines": sum(text.count("\n") for text in design.files.values()),
        "verilog_seconds": round(written - imported, 1),
        "peak_megabytes": round(max(each.ru_maxrss for each in _usages()) * 1024 / 1e6),
    }


def _usages() -> list[resource.struct_rusage]:
    return [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


def _seconds() -> float:
    return sum(each.ru_utime + each.ru_stime for each in _usages())


def said(rows: Sequence[Row]) -> str:
    """Seconds of every model."""
    return ", ".join(f"`{row['point']}` {row['program_seconds']} and {row['verilog_seconds']}" for row in rows)


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest("torch", __file__, models.__file__, points.__file__, ROOT / "hw")


COLUMNS = (
    *("point", "layers", "megabytes", "operators", "program_seconds", "files", "lines", "verilog_seconds"),
    *("peak_megabytes", "cpu_seconds", "sources", "version"),
)
CAMPAIGN = Experiment(
    "streamtensor",
    COLUMNS,
    {"compile": compiled},
    measured,
    sources,
    lambda row: f"{row['program_seconds']} s to the program, and {row['verilog_seconds']} s to Verilog",
)
