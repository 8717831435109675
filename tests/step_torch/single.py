"""`.pt2` files of a few operators, written without torch."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from step_torch.archive import DTYPES

NUMBERS = {name: number for number, name in DTYPES.items()}


@dataclass(frozen=True)
class Name:
    """An argument that is the value called so."""

    name: str


@dataclass(frozen=True)
class Format:
    """An argument that is a format of scalars."""

    name: str


@dataclass(frozen=True)
class Operator:
    """``op`` of ``args`` and ``options``; ``results`` are the formats and shapes of its results, by their names."""

    op: str
    args: Sequence[Any]
    results: Mapping[str, tuple[str, Sequence[int]]]
    options: Mapping[str, Any] = field(default_factory=dict)


def written(
    path: Path,
    operators: Sequence[Operator],
    inputs: Mapping[str, np.ndarray],
    weights: Mapping[str, np.ndarray] | None = None,
    dynamic: Mapping[str, Sequence[int]] | None = None,
) -> Path:
    """A file whose output is the last result; ``dynamic`` axes of inputs have 2 to 64."""
    weights, dynamic = weights or {}, dynamic or {}
    values = {name: meta for each in operators for name, meta in each.results.items()}
    tensors = {name: (str(each.dtype), each.shape) for name, each in {**inputs, **weights}.items()} | values
    last = list(values)[-1]
    model = {
        "schema_version": {"major": 8, "minor": 14},
        "torch_version": "2.13.0",
        "range_constraints": {"s0": {"min_val": 2, "max_val": 64}},
        "graph_module": {
            "graph": {
                "nodes": [_node(each) for each in operators],
                "tensor_values": {
                    name: {"dtype": NUMBERS[dtype], "sizes": _sizes(shape, dynamic.get(name, ()))}
                    for name, (dtype, shape) in tensors.items()
                },
                "sym_int_values": {},
            },
            "signature": {
                "input_specs": [
                    *({"parameter": {"arg": {"name": name}, "parameter_name": name}} for name in weights),
                    *({"user_input": {"arg": {"as_tensor": {"name": name}}}} for name in inputs),
                ],
                "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": last}}}}],
            },
        },
    }
    results = io.BytesIO()
    stored = {f"input_0_{at}": _bits(each) for at, each in enumerate(inputs.values())}
    blank = np.zeros(values[last][1])
    np.savez(results, **stored, bf16_0_0=blank, float64_0_0=blank)  # type: ignore[arg-type]
    config = {name: _meta(name, each) for name, each in weights.items()}
    members = {
        "models/model.json": json.dumps(model).encode(),
        "data/weights/model_weights_config.json": json.dumps({"config": config}).encode(),
        "data/constants/model_constants_config.json": json.dumps({"config": {}}).encode(),
        "data/step/results.npz": results.getvalue(),
        **{f"data/weights/{name}": each.tobytes() for name, each in weights.items()},
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"archive/{name}", data)
    return path


def bf16(*shape: int, seed: int = 0) -> np.ndarray:
    """Random numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(ml_dtypes.bfloat16)


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


def _sizes(shape: Sequence[int], dynamic: Sequence[int]) -> list[dict[str, Any]]:
    symbol = {"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)"}}
    return [symbol if axis in dynamic else {"as_int": extent} for axis, extent in enumerate(shape)]


def _meta(name: str, array: np.ndarray) -> dict[str, Any]:
    strides = [{"as_int": each // array.itemsize} for each in array.strides]
    meta = {"dtype": NUMBERS[str(array.dtype)], "sizes": _sizes(array.shape, ()), "strides": strides}
    return {"path_name": name, "tensor_meta": {**meta, "storage_offset": {"as_int": 0}}}


def _node(each: Operator) -> dict[str, Any]:
    args = [{"name": str(at), "arg": _arg(arg), "kind": 1} for at, arg in enumerate(each.args)]
    options = [{"name": name, "arg": _arg(arg), "kind": 2} for name, arg in each.options.items()]
    return {
        "target": f"torch.ops.{each.op}",
        "inputs": args + options,
        "outputs": [{"as_tensor": {"name": name}} for name in each.results],
        "metadata": {"stack_trace": 'File "model.py", line 1, in forward'},
    }


def _arg(value: Any) -> dict[str, Any]:
    match value:
        case Name(name):
            return {"as_tensor": {"name": name}}
        case Format(name):
            return {"as_scalar_type": NUMBERS[name]}
        case None:
            return {"as_none": True}
        case bool():
            return {"as_bool": value}
        case int():
            return {"as_int": value}
        case float():
            return {"as_float": value}
        case str():
            return {"as_string": value}
        case [Name(), *_]:
            return {"as_tensors": [{"name": each.name} for each in value]}
        case _:
            return {"as_ints": list(value)}
