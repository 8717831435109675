"""A `.pt2` file of `torch.export`, read without torch: a zip of JSON and of weights as they lie in memory."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from step.errors import FormatError
from step.host.memory import check_fits
from step.host.paths import check_readable

RESULTS = "data/step/results.npz"
"""The member in which `step_torch.capture` stores arguments and results."""

DAMAGED = zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, json.JSONDecodeError, UnicodeDecodeError
"""What is raised for files of which bytes are lost or changed."""

SCHEMA = 8
"""The major version of the schema of `torch.export` that is read."""

TESTED = "2.13"
"""The version of torch that writes it."""

DTYPES: Mapping[int, str] = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64", 12: "bool",
    13: "bfloat16", 29: "float8_e4m3fn", 30: "float8_e5m2",
}  # fmt: skip
"""Formats of scalars by their numbers in the schema."""


@dataclass(frozen=True)
class TorchResults:
    """Results of torch for ``inputs``: per output the module in BF16, and in float64."""

    inputs: list[np.ndarray]
    bf16: list[np.ndarray]
    float64: list[np.ndarray]


@dataclass(frozen=True)
class GeneratedText:
    """``tokens`` that torch wrote, but for the prompt at their begin, and the ``margins`` of those that it wrote: by
    how much their scores were larger than any other."""

    tokens: list[int]
    margins: list[float]

    @property
    def prompt(self) -> list[int]:
        """The tokens that were given."""
        return self.tokens[: len(self.tokens) - len(self.margins)]


@dataclass(frozen=True)
class Archive:
    """``model``: the JSON of the exported program. ``weights``: its parameters and constants, by name. ``results``: for
    the arguments of the capture, and for each of its further samples. ``texts``: of a language model."""

    path: Path
    model: dict[str, Any]
    weights: Mapping[str, np.ndarray]
    results: tuple[TorchResults, ...] = field(repr=False)
    texts: tuple[GeneratedText, ...] = field(repr=False)

    def is_constant(self, name: str) -> bool:
        """Whether an import knows the numbers of ``name``, which the capture computed, or which are whole."""
        return name.startswith("known_") or self.weights[name].dtype.name in ("int64", "int32", "bool")


def read_archive(path: Path | str) -> Archive:
    """Read ``path``; raises `FormatError` for a file that is none, that is cut off, or that another version wrote."""
    path = Path(path)
    check_readable(path)
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise FormatError(f"'{path}' is no .pt2 file: a .pt2 file is a zip archive; step_torch.capture writes one")
    try:
        with zipfile.ZipFile(path) as opened:
            return _ArchiveReader(path, opened).read()
    except DAMAGED as error:
        raise FormatError(f"'{path}' is cut off or damaged: {error}") from None


class _ArchiveReader:
    def __init__(self, path: Path, opened: zipfile.ZipFile) -> None:
        self.path, self._opened = path, opened
        self._root = zipfile.Path(opened) / next(iter(opened.namelist()), "").split("/")[0]

    def read(self) -> Archive:
        model = self._json("models/model.json", "the exported program")
        self._check_version(model)
        size = sum(each.file_size for each in self._opened.infolist() if "/data/weights/" in each.filename)
        what = f"a program with the {size / 1e9:,.1f} GB of weights of '{self.path}'"
        advice = "capture fewer layers (step_torch.Layers(model, COUNT)), or take a machine with more"
        check_fits(2 * size, what, advice)  # as they are read, and as a program has them
        weights = {**self._weights("weights"), **self._weights("constants")}
        found = self._arrays()
        return Archive(self.path, model, weights, _results(found), _texts(found))

    def _check_version(self, model: dict[str, Any]) -> None:
        version, written = model.get("schema_version", {}), model.get("torch_version", "an unknown version")
        if version.get("major") != SCHEMA:
            shown = f"{version.get('major', '?')}.{version.get('minor', '?')}"
            raise FormatError(
                f"'{self.path}' has schema {shown} of torch.export, by torch {written}; what can be read is schema "
                f"{SCHEMA}: capture the module again with torch {TESTED}"
            )

    def _weights(self, kind: str) -> dict[str, np.ndarray]:
        config = self._json(f"data/{kind}/model_{kind}_config.json", f"the list of {kind}")["config"]
        return {name: self._weight(name, kind, each) for name, each in config.items()}

    def _weight(self, name: str, kind: str, config: dict[str, Any]) -> np.ndarray:
        member, meta = f"data/{kind}/{config['path_name']}", config["tensor_meta"]
        if not (self._root / member).exists():
            raise FormatError(f"'{self.path}' lacks {member}, the data of {name!r}: capture the module again")
        kept, shape = DTYPES.get(meta["dtype"]), [each["as_int"] for each in meta["sizes"]]
        if kept is None:
            known = ", ".join(DTYPES.values())
            raise FormatError(f"'{self.path}': {name!r} has format {meta['dtype']}, which is none of {known}")
        dtype = np.dtype(getattr(ml_dtypes, kept, kept))
        data = (self._root / member).read_bytes()
        if len(data) != prod(shape) * dtype.itemsize:
            raise FormatError(
                f"'{self.path}': {name!r} is {kept}{shape} of {prod(shape) * dtype.itemsize:,} bytes, "
                f"but {member} has {len(data):,}"
            )
        strides = [each["as_int"] * dtype.itemsize for each in meta["strides"]]
        offset = meta["storage_offset"]["as_int"] * dtype.itemsize
        return np.ndarray(shape, dtype, data, offset, strides)

    def _json(self, member: str, what: str) -> dict[str, Any]:
        if not (found := self._root / member).exists():
            raise FormatError(f"'{self.path}' is no .pt2 file of torch.export: it lacks {member}, {what}")
        return json.loads(found.read_bytes())

    def _arrays(self) -> dict[str, np.ndarray]:
        """Arrays that `step_torch.capture` stored beside the program."""
        if not (found := self._root / RESULTS).exists():
            return {}
        with np.load(io.BytesIO(found.read_bytes())) as arrays:
            bits = ml_dtypes.bfloat16
            return {key: each.view(bits) if each.dtype == np.uint16 else each for key, each in arrays.items()}


def _results(found: dict[str, np.ndarray]) -> tuple[TorchResults, ...]:
    def listed(kind: str, sample: int) -> list[np.ndarray]:
        names = (f"{kind}_{sample}_{number}" for number in range(len(found)))
        return [found[name] for name in names if name in found]

    samples = range(sum(name.startswith("bf16_") and name.endswith("_0") for name in found))
    return tuple(TorchResults(*(listed(kind, each) for kind in ("input", "bf16", "float64"))) for each in samples)


def _texts(found: dict[str, np.ndarray]) -> tuple[GeneratedText, ...]:
    count = sum(name.startswith("text_") for name in found)
    return tuple(GeneratedText(found[f"text_{at}"].tolist(), found[f"margin_{at}"].tolist()) for at in range(count))
