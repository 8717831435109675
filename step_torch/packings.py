"""Linear layers of checkpoints whose weights GPTQ or AWQ packed in 32 bits, as our own layers of the same integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from step.errors import InputError, expect
from step_torch.quantized import QuantizedLinear

METHODS = {"gptq": (4, 8), "awq": (4,)}
"""Bits of a weight that each method may have."""

AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)
"""Places in 32 bits of eight columns that are neighbours."""

_PARTS = ("qweight", "qzeros", "scales", "g_idx", "bias")


def check_packing(config: Any, names: Iterable[str], says: Callable[[str], str]) -> None:
    """Raises `InputError` for a checkpoint of weights ``names`` with a quantization of another kind."""
    there = any(name.endswith(".qweight") for name in names)
    expect(config or not there, says("has qweight, but no quantization_config"), InputError)
    if not config:
        return
    method, bits = config.get("quant_method"), config.get("bits")
    what = f"has quantized weights ({method}), and gptq and awq have a lowering"
    advice = "store them in bfloat16, by model.dequantize() and save_pretrained"
    expect(method in METHODS, says(f"{what}: {advice}"), InputError)
    expect(there, says("has no qweight, as its quantization_config says"), InputError)
    able = " and ".join(map(str, METHODS[method]))
    expect(bits in METHODS[method], says(f"has {method} weights of {bits} bits: {able} have a lowering"), InputError)
    version = config.get("version", "gemm")
    expect(version == "gemm", says(f"has the {method} layout {version!r}: 'gemm' has a lowering"), InputError)


def unpacked_layers(state: Mapping[str, Tensor], config: Any, says: Callable[[str], str]) -> dict[str, QuantizedLinear]:
    """The linear layers in ``state`` by their paths, as the ``config`` of a quantization says."""
    paths = (name.removesuffix(".qweight") for name in state if name.endswith(".qweight"))
    return {path: _layer(path, state, config, says) for path in paths}


def is_packed(name: str, layers: Mapping[str, Any]) -> bool:
    """Whether ``name`` is a tensor of one of the ``layers``."""
    path, _, part = name.rpartition(".")
    return path in layers and part in _PARTS


def _layer(path: str, state: Mapping[str, Tensor], config: Any, says: Callable[[str], str]) -> QuantizedLinear:
    bits, columns_first = config["bits"], config["quant_method"] == "gptq"
    weight, zeros, scales, order, bias = (state.get(f"{path}.{part}") for part in _PARTS)
    assert weight is not None and zeros is not None and scales is not None
    places = AWQ_ORDER if config["quant_method"] == "awq" else range(32 // bits)
    integers = _integers(weight.T if columns_first else weight, bits, places)
    integers = integers if columns_first else integers.T
    shift = _integers(zeros, bits, places).T + (columns_first and config.get("checkpoint_format") != "gptq_v2")
    group = integers.shape[1] // len(scales)
    trivial = order is None or torch.equal(order, torch.arange(len(order)) // group)
    expect(trivial, says(f"has {path!r} with inputs in another order (desc_act): neighbours make a group"), InputError)
    middle = 1 << bits - 1
    wide = bits == 8 or bool((shift != middle).any())  # a difference of two integers of 4 bits has 5
    signed = integers - shift.repeat_interleave(group, 1)
    off = f"has {path!r} with zero points other than {middle}: of 8 bits that one has a lowering"
    expect(bits == 4 or bool((shift == middle).all()), says(off), InputError)
    return QuantizedLinear.of(signed.to(torch.int8), scales.T.float(), bias, 8 if wide else 4)


def _integers(given: Tensor, bits: int, places: Any) -> Tensor:
    """What is packed in the scalars of the last axis."""
    shifts = torch.tensor([*places]) * bits
    return ((given[..., None] >> shifts) & ((1 << bits) - 1)).flatten(-2)
