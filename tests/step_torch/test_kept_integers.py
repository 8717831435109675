"""Linear layers as GPTQ, AWQ and torchao lay them out, in plain torch: ours keep their integers, or say why not."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from raising import raising

import step_torch
from step.errors import InputError

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch._functorch._aot_autograd.subclass_parametrization import unwrap_tensor_subclass_parameters  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.utils import parametrize  # noqa: E402
from torch.utils._python_dispatch import return_and_correct_aliasing  # noqa: E402

DEPTH, COLUMNS, GROUP = 64, 32, 16


def drawn(bits: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Integers from 0 on [depth, columns] of so many bits, all of which occur, and scales [groups, columns]."""
    generator = torch.Generator().manual_seed(seed)
    integers = torch.randint(0, 1 << bits, (DEPTH, COLUMNS), generator=generator)
    integers[: 1 << min(bits, 6), 0] = torch.arange(1 << bits)[:: 1 << max(0, bits - 6)]
    return integers, (torch.rand(DEPTH // GROUP, COLUMNS, generator=generator).half() + 0.25) / 32


def packed(integers: Tensor, bits: int, order: Any) -> Tensor:
    """Neighbours of the last axis in 32 bits each; ``order``: of neighbours, from the lowest bits on."""
    apart = integers.unflatten(-1, (-1, 32 // bits))
    words = torch.stack([apart[..., each] << (bits * place) for place, each in enumerate(order)]).sum(0)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)


def unpacked(words: Tensor, bits: int, order: Any) -> Tensor:
    shifts = torch.tensor([[*order].index(place) for place in range(32 // bits)]) * bits
    return ((words[..., None] >> shifts) & ((1 << bits) - 1)).flatten(-2)


class Layer(nn.Module):
    def __init__(self, **tensors: Tensor) -> None:
        super().__init__()
        self.in_features, self.out_features = DEPTH, COLUMNS
        for name, each in tensors.items():
            self.register_buffer(name, each)


class Gptq(Layer):
    """Rows of a weight in 32 bits, zero points less one, and a group for each input."""

    def __init__(self, bits: int = 4, zero: int | None = None, order: Tensor | None = None) -> None:
        integers, scales = drawn(bits)
        middle = torch.full(scales.shape, (1 << bits - 1 if zero is None else zero) - 1)
        plain = range(32 // bits)
        group = torch.arange(DEPTH) // GROUP if order is None else order
        words = packed(integers.T.contiguous(), bits, plain).T.contiguous()
        super().__init__(qweight=words, qzeros=packed(middle, bits, plain), scales=scales, g_idx=group.int())
        self.register_buffer("bias", torch.randn(COLUMNS, generator=torch.Generator().manual_seed(1)).half())
        self.bits = bits

    def forward(self, x: Tensor) -> Tensor:
        integers = unpacked(self.qweight.T, self.bits, range(32 // self.bits)).T
        zeros = unpacked(self.qzeros, self.bits, range(32 // self.bits)) + 1
        group = self.g_idx.long()
        weight = (integers - zeros[group]).to(x.dtype) * self.scales[group].to(x.dtype)
        return x @ weight + self.bias.to(x.dtype)


class Awq(Layer):
    """Columns of a weight in 32 bits, in an order of their own."""

    ORDER = (0, 2, 4, 6, 1, 3, 5, 7)

    def __init__(self, zero: int = 8) -> None:
        integers, scales = drawn(4)
        zeros = torch.full(scales.shape, zero)
        words, shifted = (packed(each, 4, self.ORDER) for each in (integers, zeros))
        super().__init__(qweight=words, qzeros=shifted, scales=scales)

    def forward(self, x: Tensor) -> Tensor:
        integers, zeros = (unpacked(each, 4, self.ORDER) for each in (self.qweight, self.qzeros))
        weight = (integers - zeros.repeat_interleave(GROUP, 0)).to(x.dtype)
        return x @ (weight * self.scales.to(x.dtype).repeat_interleave(GROUP, 0))


class Affine(nn.Module):
    """What torchao's tensors of integers become as plain ones: a parametrization of the weight."""

    def __init__(self, zero: float) -> None:
        super().__init__()
        self.zero = zero

    def forward(self, integers: Tensor, scale: Tensor) -> Tensor:
        apart = integers.unflatten(-1, (-1, GROUP)).to(scale.dtype) - self.zero
        return (apart * scale[..., None]).flatten(-2)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        integers, scales = drawn(4)
        return (integers.T - 8).to(torch.int8), scales.T.to(weight.dtype).contiguous()


def affine(zero: float = 0) -> nn.Module:
    """A linear layer of torch whose weight torchao made one of integers in groups."""
    layer = nn.Linear(DEPTH, COLUMNS).to(torch.bfloat16).requires_grad_(False)
    parametrize.register_parametrization(layer, "weight", Affine(zero), unsafe=True)
    return layer


class WeightOnly(Layer):
    """Integers of 8 bits, a scale for each column behind the product."""

    def __init__(self) -> None:
        integers, scales = drawn(8)
        super().__init__(weight=(integers.T - 128).to(torch.int8), scales=scales[0].to(torch.bfloat16) / 16)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.to(x.dtype)) * self.scales.to(x.dtype)


class TinyGemm(Layer):
    """Two integers in a byte, and scales with what stands for zero, in floating point."""

    def __init__(self, zero: float = 0) -> None:
        integers, scales = drawn(4)
        pairs = integers.T[:, ::2] << 4 | integers.T[:, 1::2]
        both = torch.stack([scales, torch.full_like(scales, zero)], -1)
        super().__init__(weight=pairs.to(torch.uint8), scales_and_zeros=both.to(torch.bfloat16))

    def forward(self, x: Tensor) -> Tensor:
        integers = torch.stack([self.weight >> 4, self.weight & 15], -1).flatten(-2).to(x.dtype) - 8
        scales, zeros = (each.to(x.dtype).T.repeat_interleave(GROUP, 1) for each in self.scales_and_zeros.unbind(-1))
        return x @ (integers * scales + zeros).T


class Squared(Awq):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) ** 2


def rows() -> Tensor:
    return torch.randn(1, 16, DEPTH, generator=torch.Generator().manual_seed(2)).to(torch.bfloat16)


LAYOUTS = [(Gptq, 4), (lambda: Gptq(8), 8), (lambda: Gptq(zero=6), 8), (Awq, 4), (lambda: Awq(11), 8), (affine, 4),
           (lambda: affine(3), 8), (WeightOnly, 8), (TinyGemm, 4)]  # fmt: skip


@pytest.mark.parametrize(("layout", "bits"), LAYOUTS)
def test_integers_are_kept(layout: Any, bits: int, tmp_path: Path) -> None:
    """The weight is the same in float64; of the results only the integers of rows are off, by less than 1 %."""
    module = nn.Sequential(layout())
    with torch.no_grad():
        exact = copy.deepcopy(module).double()(rows().double())
        unit = copy.deepcopy(module).double()(torch.eye(DEPTH, dtype=torch.float64))
        shift = copy.deepcopy(module).double()(torch.zeros(1, DEPTH, dtype=torch.float64))
    path = step_torch.capture(step_torch.quantize(module), (rows(),), tmp_path / "kept.pt2")
    own = module[0]
    assert own.bits == bits and own.weight.numel() == DEPTH * COLUMNS * bits // 8
    integers = torch.from_numpy(step_torch.quantized.unpacked(own.weight.numpy())) if bits == 4 else own.weight
    weight = integers * own.scales.double().repeat_interleave(DEPTH // own.scales.shape[1], 1)
    assert torch.allclose(weight, (unit - shift).T, rtol=1e-9, atol=1e-12)
    imported = step_torch.load(path)
    assert imported.check().passed and f"weights in {bits} with a scale for" in imported.notes[0]
    off = torch.from_numpy(imported.archive.results[0].bf16[0].astype(float)) - exact
    assert float(off.square().mean().sqrt() / exact.square().mean().sqrt()) < 0.01


def test_layers_that_differ_in_a_number_have_the_same_bits() -> None:
    """As they become one of hardware; what is in floating point is rounded, as it is asked for."""
    model = nn.ModuleDict({"layers": nn.ModuleList([Awq(), Awq(11)]), "other": Awq(), "plain": nn.Linear(64, 32)})
    step_torch.quantize(model, weights=8)
    assert [model.get_submodule(each).bits for each in ("layers.0", "layers.1", "other", "plain")] == [8, 8, 4, 8]


@cases(
    (lambda: Gptq(order=torch.arange(DEPTH).flip(0) // GROUP),
     "'0' has inputs in another order (act-order): neighbours make a group"),
    (lambda: TinyGemm(0.125), "'0' has weights that are no integers times scales of neighbours, which can not be kept: "
     "zero points must be integers"),
    (lambda: Gptq(8, zero=100), "'0' has integers from -100 to 155, less their zero points: 8 bits hold a weight"),
    (Squared, "'0' has integers, and does something else than x @ weight^T + bias with its rows"),
)  # fmt: skip
def test_other_layers(layout: Any, complaint: str) -> None:
    with raising(InputError, complaint):
        step_torch.quantize(nn.Sequential(layout()))


def test_a_layer_of_one_format() -> None:
    class Half(WeightOnly):
        def forward(self, x: Tensor) -> Tensor:
            return F.linear(x, self.weight.half())

    with pytest.raises(InputError, match=r"'0' has integers, and can not be called in float64: at .*, RuntimeError: "):
        step_torch.quantize(nn.Sequential(Half()))


class Wrapped(Tensor):
    """A weight as torchao has one: integers and scales in a tensor of a class of its own."""

    @staticmethod
    def __new__(cls, integers: Tensor, scales: Tensor) -> Wrapped:
        found: Wrapped = Tensor._make_wrapper_subclass(cls, integers.shape, dtype=scales.dtype)
        return found

    def __init__(self, integers: Tensor, scales: Tensor) -> None:
        self.integers, self.scales = integers, scales

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["integers", "scales"], None

    @classmethod
    def __tensor_unflatten__(cls, inner: dict[str, Tensor], *_: Any) -> Wrapped:
        return cls(inner["integers"], inner["scales"])

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.linear:
            x, weight, bias = args
            spread = weight.scales.repeat_interleave(GROUP, 1)
            return F.linear(x, weight.integers.to(spread.dtype) * spread, bias)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return return_and_correct_aliasing(func, args, kwargs, cls(args[0].integers, args[0].scales))


def wrapped() -> nn.Module:
    integers, scales = drawn(4)
    layer = nn.Linear(DEPTH, COLUMNS).to(torch.bfloat16).requires_grad_(False)
    weight = Wrapped((integers.T - 8).to(torch.int8), scales.T.to(torch.bfloat16).contiguous())
    layer.weight = nn.Parameter(weight, requires_grad=False)
    return nn.Sequential(layer)


def test_tensors_of_classes_of_torchao(tmp_path: Path) -> None:
    """They are refused, and what is said to help does: this is what torchao's function calls."""
    module = wrapped()
    assert module(rows()).shape == (1, 16, COLUMNS)
    says = (
        "'0.weight' is a tensor of the class Wrapped, and others are in it: let "
        "torchao.utils.unwrap_tensor_subclass(module) take them out, and quantize keeps their integers"
    )
    with raising(InputError, says):
        step_torch.quantize(module)
    with raising(InputError, says):
        step_torch.capture(module, (rows(),), tmp_path / "wrapped.pt2")
    integers = module[0].weight.integers
    unwrap_tensor_subclass_parameters(module)
    step_torch.quantize(module)
    assert torch.equal(torch.from_numpy(step_torch.quantized.unpacked(module[0].weight.numpy())), integers)
