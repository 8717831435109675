"""Linear layers and routed experts with weights of 4 or 8 bits, whose rows are quantised on the way: W4A8 and W8A8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from step.errors import InputError, expect
from step.functions.dequantize import Bits, packed, quantized, unpacked
from step.functions.reciprocal import divide
from step.language import numerics
from step.language.arguments import checked
from step.library.quantized import MOST
from step_torch.calling import calling, check_plain
from step_torch.integers import integer_layers
from step_torch.routed import QuantizedExperts, experts_of

_IN_STEPS = ContextVar("in_steps", default=True)
"""Whether rows are rounded to integers."""

DAMPING = 0.01
"""What is added to the diagonal of products of inputs, of its mean: so they have an inverse."""


@torch.library.custom_op("step::quantized_linear", mutates_args=())
def quantized_linear(x: Tensor, weight: Tensor, scales: Tensor, bias: Tensor | None = None, bits: int = 8) -> Tensor:
    """x @ weight^T + bias by integers, as `step.library.quantized_matmul` computes it, to the bit.

    ``weight``: INT8 [columns, depth], or with 4 ``bits`` two integers each, the first one in the lower bits.
    ``scales``: BF16 or FP32 [columns, groups], each of so many neighbours as make up the depth.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    rows, (columns, groups) = x.to(wide), scales.shape
    sizes = rows.abs().amax(-1, keepdim=True) * torch.tensor(1 / MOST, dtype=wide)
    if wide is torch.float32:
        with numerics.quiet():
            factors = torch.from_numpy(np.asarray(divide(np.ones(1, np.float32), sizes.numpy()), np.float32))
    else:
        factors = 1 / sizes
    steps = rows * factors
    integers = (steps.round() if _IN_STEPS.get() else steps).clamp(-MOST - 1, MOST).nan_to_num(0.0)
    matrix = torch.from_numpy(unpacked(weight.numpy())) if bits == 4 else weight
    each = integers.double().reshape(-1, groups, rows.shape[-1] // groups).transpose(0, 1)
    products = each @ matrix.double().reshape(columns, groups, -1).permute(1, 2, 0)  # exact, below 2^53
    total = torch.zeros(products.shape[1:], dtype=wide)
    for product, scale in zip(products.to(wide), scales.to(wide).T, strict=True):
        total = total + product * scale
    total = total.reshape(*x.shape[:-1], columns) * sizes
    return (total if bias is None else total + bias.to(wide)).to(x.dtype)


@quantized_linear.register_fake
def _(x: Tensor, weight: Tensor, *_: Any) -> Tensor:
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


@contextmanager
def unrounded() -> Iterator[None]:
    """Rows are not rounded to integers meanwhile, where the least error may become one of a whole step."""
    before = _IN_STEPS.set(False)
    try:
        yield
    finally:
        _IN_STEPS.reset(before)


class QuantizedLinear(nn.Module):
    """Linear layer of integers ``weight`` of so many ``bits``, with ``scales``: see `quantized_linear`."""

    def __init__(self, weight: Tensor, scales: Tensor, bias: Tensor | None, bits: int) -> None:
        super().__init__()
        self.bits = bits
        for name, each in {"weight": weight, "scales": scales, "bias": bias}.items():
            self.register_buffer(name, None if each is None else each.detach())

    @classmethod
    def of(cls, integers: Tensor, scales: Tensor, bias: Tensor | None, bits: int) -> QuantizedLinear:
        """The layer with such ``integers`` [columns, depth] of INT8, and its bias in BF16."""
        kept = integers if bits == 8 else torch.from_numpy(packed(integers.numpy()))
        return cls(kept.contiguous(), scales.contiguous(), None if bias is None else bias.to(torch.bfloat16), bits)

    def forward(self, x: Tensor) -> Tensor:
        return quantized_linear(x, self.weight, self.scales, self.bias, self.bits)


@partial(checked, refused=InputError)
def quantize(
    module: Any, *, weights: Bits = 4, group: int | None = 64, head: bool = False, data: Sequence[Any] = ()
) -> Any:
    """``module`` with integers for the weights of its linear layers and experts: W4A8 or W8A8, as `capture` takes it.

    ``module``: changed in place, or the folder of a checkpoint, which is read so (see `from_pretrained`).
    ``weights``: bits of a weight.
    ``group``: weights with one scale, neighbours in the depth; None: a row.
    ``head``: scores of a language model, too, are products of integers.
    ``data``: arguments that ``module`` is called with, a tensor or a tuple each: every weight is rounded such that
    those behind it make up for its error on them (GPTQ); without any, where none come, or of experts to the nearest.

    Layers whose weights are integers already, as GPTQ, AWQ or torchao have them in plain tensors, keep these, with 8
    bits where zero points are not in the middle.

    Raises `InputError` for a module without linear layers, for groups that do not divide one, for tensors of torchao's
    own classes, and for integers with zero points that are none, or with inputs in another order (act-order).

    >>> step_torch.quantize(model, weights=4, group=64)  # doctest: +SKIP
    >>> step_torch.quantize("checkpoints/tiny-llama", group=32).layer(7).check().passed  # doctest: +SKIP
    True
    """
    if not isinstance(module, nn.Module):
        from step_torch.pretrained import Checkpoint

        expect(not data, "a folder takes no data: quantize the model itself, and give that to capture", InputError)
        return Checkpoint(Path(module), {"weights": weights, "group": group, "head": head})
    check_plain(module)
    kept, found = integer_layers(module), _linear_layers(module, head=head)
    experts = _experts_of(module)
    says = f"{type(module).__name__} has no linear layers to quantise"
    expect(kept or found or experts, f"{says}: parts that are nn.Linear, or Conv1D of transformers, are", InputError)
    given = [(path, each) for path, (matrices, *_) in experts.items() for each in matrices]
    for path, each in [*given, *((path, matrix) for path, (_, matrix) in found.items())]:
        _check(path, each, weights, group)
    for path, layer in kept.items():
        module.set_submodule(path, QuantizedLinear.of(*layer))
    inputs = _products_of_inputs(module, {path: each for path, (each, _) in found.items()}, data)
    for path, (each, matrix) in found.items():
        exact = matrix.detach().double().numpy()
        made = (
            _compensated(exact, inputs[path], weights, group or exact.shape[1])
            if path in inputs
            else quantized(exact, bits=weights, group=group)
        )
        module.set_submodule(path, QuantizedLinear(*_of_torch(*made), each.bias, weights))
    for path, (matrices, biases, activation, interleaved) in experts.items():
        parts = {"gate_up_bias": biases[0], "down_bias": biases[1]}
        for name, matrix in zip(("gate_up", "down"), matrices, strict=True):
            made = quantized(matrix.detach().double().numpy(), bits=weights, group=group)
            parts[name], parts[f"{name}_scales"] = _of_torch(*made)
        module.set_submodule(path, QuantizedExperts(activation, weights, interleaved=interleaved, **parts))
    return module


def _of_torch(integers: np.ndarray, scales: np.ndarray) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(integers), torch.from_numpy(scales.view(np.uint16)).view(torch.bfloat16)


def _experts_of(module: nn.Module) -> dict[str, tuple[list[Tensor], list[Any], str, bool]]:
    """Experts of transformers by their paths: gate and up, and down [experts, columns, depth], and what is beside."""
    found = dict[str, tuple[list[Tensor], list[Any], str, bool]]()
    for path, each in module.named_modules():
        if path and hasattr(each, "_apply_gate"):
            *given, activation, transposed, interleaved = experts_of(each, partial(_refusal, path))
            matrices = [one.transpose(1, 2) if transposed else one for one in given[:2]]
            found[path] = matrices, given[2:], activation, interleaved
    return found


def _refusal(path: str, why: str) -> InputError:
    return InputError(f"experts of {path!r} {why}")


def _linear_layers(module: nn.Module, *, head: bool) -> dict[str, tuple[nn.Module, Tensor]]:
    """Linear layers by their paths, with their weights [columns, depth]."""
    scores = None if head or not hasattr(module, "get_output_embeddings") else module.get_output_embeddings()
    found = dict[str, tuple[nn.Module, Tensor]]()
    for path, each in module.named_modules():
        if each is not scores and path and (type(each) is nn.Linear or type(each).__name__ == "Conv1D"):
            found[path] = each, each.weight if type(each) is nn.Linear else each.weight.T
    return found


def _check(path: str, matrix: Tensor, bits: Bits, group: int | None) -> None:
    columns, depth = matrix.shape[-2:]
    fit = next((f"group={each} does" for each in (128, 64, 32, 16) if depth % each == 0), "group=None is one for all")
    says = f"groups of {group} do not divide the {depth} inputs of {path!r}: {fit}"
    expect(depth % (group or depth) == 0, says, InputError)
    says = f"{path!r} is [{columns}, {depth}], and two weights of 4 bits are a byte: odd numbers take weights=8"
    expect(bits == 8 or (columns % 2 == 0 and depth % 2 == 0), says, InputError)


def _products_of_inputs(module: nn.Module, layers: dict[str, nn.Module], data: Sequence[Any]) -> dict[str, np.ndarray]:
    """Of each layer the products [depth, depth] of its inputs, summed over all rows of ``data``."""
    sums = dict[str, np.ndarray]()

    def add(path: str, _: nn.Module, args: tuple[Tensor, ...]) -> None:
        rows = args[0].detach().double().flatten(0, -2)
        sums[path] = sums.get(path, 0) + (rows.T @ rows).numpy()

    with ExitStack() as hooks, torch.no_grad(), calling(module, "the module can not be called with data"):
        for path, each in layers.items():
            hooks.enter_context(each.register_forward_pre_hook(partial(add, path)))
        for args in data:
            module(*(args if isinstance(args, tuple | list) else (args,)))
    return sums


def _compensated(matrix: np.ndarray, products: np.ndarray, bits: Bits, group: int) -> tuple[np.ndarray, np.ndarray]:
    """`quantized`, one input after the other: those behind it take its error, as far as inputs are alike (GPTQ)."""
    depth, most = matrix.shape[1], (1 << bits - 1) - 1
    damped = products + np.eye(depth) * (DAMPING * np.trace(products) / depth or 1)
    share = np.linalg.cholesky(np.linalg.inv(damped)).T
    left, scales, integers = matrix.copy(), list[np.ndarray](), np.empty(matrix.shape, np.int8)
    for at in range(depth):
        if at % group == 0:
            scales.append(quantized(left[:, at : at + group], bits=bits)[1])
        scale = scales[-1][:, 0].astype(np.float64)
        steps = np.divide(left[:, at], scale, out=np.zeros_like(scale), where=scale != 0)
        integers[:, at] = np.clip(np.rint(steps), -most - 1, most)
        error = (left[:, at] - integers[:, at] * scale) / share[at, at]
        left[:, at + 1 :] -= np.outer(error, share[at, at + 1 :])
    return packed(integers) if bits == 4 else integers, np.hstack(scales)
