"""Data that is given for the inputs of a captured module, in the formats of the capture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from step import BF16, BOOL, FP32, INT8, INT32, DType
from step.errors import InputError, expect
from step.language.dtypes import FP8_E4M3, FP8_E5M2, FP16
from step.programs.data.inputs import as_data
from step.programs.data.npz import load_arrays
from step.programs.data.scalars import scalars
from step_torch.archive import DTYPES, Archive
from step_torch.nodes import inputs_of

FORMATS: Mapping[str, DType] = {
    "bfloat16": BF16, "float32": FP32, "float16": FP16, "float8_e4m3fn": FP8_E4M3, "float8_e5m2": FP8_E5M2,
    "bool": BOOL, "int8": INT8, "int32": INT32,
    **{name: DType(name.upper(), np.dtype(name).itemsize * 8, np.dtype(name)) for name in ("uint8", "int16", "int64")},
}  # fmt: skip
"""Formats of torch in which data can be given. Some are none of the language: nothing can read them then."""


def as_captured(archive: Archive, inputs: Mapping[str, Any] | Path | str | None) -> dict[str, np.ndarray]:
    """``inputs``, data by name or the path of an .npz file, as arrays in the formats of the capture.

    Numbers are taken and rounded as docs/inputs.md says. Raises `InputError` with the input and the position.
    """
    if inputs is None:
        return {}
    data = as_data(load_arrays(Path(inputs)) if isinstance(inputs, str | Path) else inputs)
    names, metas = inputs_of(archive), archive.model["graph_module"]["graph"]["tensor_values"]
    found = dict[str, np.ndarray]()
    for name, value in data.items():
        expect(name in names, f"the module has no input {name!r}; it has {', '.join(names)}", InputError)
        kept = DTYPES.get(metas[name]["dtype"], "another format")
        if kept not in FORMATS:
            raise InputError(f"input {name!r} is {kept} in the capture, which no data can be: capture it in bfloat16")
        found[name] = scalars(value, FORMATS[kept], name)
    return found
