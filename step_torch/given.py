"""Data that is given for the inputs of a captured module: in the formats, and within the extents, of the capture."""

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
from step_torch.nodes import Nodes

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
    module = archive.model["graph_module"]
    specs = [each["user_input"]["arg"] for each in module["signature"]["input_specs"] if "user_input" in each]
    names = [each["as_tensor"]["name"] for each in specs if "as_tensor" in each]
    found = dict[str, np.ndarray]()
    for name, value in data.items():
        expect(name in names, f"the module has no input {name!r}; it has {', '.join(names)}", InputError)
        kept = DTYPES.get(module["graph"]["tensor_values"][name]["dtype"], "another format")
        if kept not in FORMATS:
            raise InputError(f"input {name!r} is {kept} in the capture, which no data can be: capture it in bfloat16")
        found[name] = scalars(value, FORMATS[kept], name)
    return found


def check_extents(archive: Archive, nodes: Nodes) -> None:
    """Raise `InputError` for dynamic extents beyond those that the capture allows."""
    sizes = archive.model["graph_module"]["graph"]["tensor_values"]
    for symbol, limits in archive.model.get("range_constraints", {}).items():
        low, high = limits.get("min_val"), limits.get("max_val")
        extent = nodes.extents.get(symbol)
        if extent is None or ((low is None or low <= extent) and (high is None or extent <= high)):
            continue
        axes = ((name, axis, each) for name in nodes.inputs for axis, each in enumerate(sizes[name]["sizes"]))
        name, axis, _ = next(each for each in axes if f"'{symbol}'" in each[2].get("as_expr", {}).get("expr_str", ""))
        allowed = f"at least {low}" if high is None else f"{low} to {high}"
        raise InputError(f"axis {axis} of input {name!r} makes a dynamic extent {extent}; its capture allows {allowed}")
