"""Marks for what a capture keeps whole: attention and routed experts, through the registries of transformers.

A mark says what it takes, and refuses everything else: what it does not know of may mean something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx.experimental.symbolic_shapes import statically_known_true

from step.errors import InputError, expect


@torch.library.custom_op("step::attention", mutates_args=())
def attention(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    """Causal attention of [batch, heads, rows, size], whose last query sees all keys; groups of heads share keys."""
    rows, keys = query.shape[2], key.shape[2]
    seen = torch.ones(rows, keys, dtype=torch.bool).tril(keys - rows)
    return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=seen, scale=scale, enable_gqa=True)


@attention.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    return torch.empty_like(query)


@torch.library.custom_op("step::experts", mutates_args=())
def experts(
    x: Tensor,
    index: Tensor,
    weight: Tensor,
    gate_up: Tensor,
    down: Tensor,
    gate_up_bias: Tensor | None = None,
    down_bias: Tensor | None = None,
    activation: str = "silu",
    transposed: bool = False,
    interleaved: bool = False,
) -> Tensor:
    """Experts, each with weights and biases of its own: down(activation(gate(x)) * up(x)).

    ``x``: rows [rows, hidden]; row i goes to the experts ``index[i]``, whose results count with ``weight[i]``.
    ``gate_up``: [experts, 2 * inner, hidden], first what belongs to gate, or one after the other if ``interleaved``;
    [experts, inner, hidden] where nothing is gated. ``down``: [experts, hidden, inner]. Both have their last two axes
    changed if ``transposed``. ``activation``: silu, gelu, gelu_tanh or relu, or clamped_silu, that of GPT-OSS.
    """
    result = torch.zeros_like(x)
    for number in range(len(gate_up)):
        rows, slot = torch.where(index == number)
        y = x[rows] @ (gate_up[number] if transposed else gate_up[number].T)
        y = y if gate_up_bias is None else y + gate_up_bias[number]
        halves = (y[:, ::2], y[:, 1::2]) if interleaved else y.chunk(2, -1)
        y = _activated(activation, *(halves if down.shape[1 if transposed else 2] < y.shape[1] else (None, y)))
        y = y @ (down[number] if transposed else down[number].T)
        y = y if down_bias is None else y + down_bias[number]
        result.index_add_(0, rows, (y * weight[rows, slot, None]).to(x.dtype))
    return result


@experts.register_fake
def _(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return torch.empty_like(x)


def _activated(activation: str, gate: Tensor | None, up: Tensor) -> Tensor:
    if activation == "clamped_silu" and gate is not None:
        gate = gate.clamp(max=7.0)
        return gate * torch.sigmoid(1.702 * gate) * (up.clamp(-7.0, 7.0) + 1)
    function: Callable[[Tensor], Tensor] = {
        "silu": nn.functional.silu, "gelu": nn.functional.gelu, "relu": nn.functional.relu,
        "gelu_tanh": partial(nn.functional.gelu, approximate="tanh"),
    }[activation]  # fmt: skip
    return function(up) if gate is None else function(gate) * up


CAUSAL = ("sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4")
"""Implementations of attention that are causal by themselves; others see all rows where there is no mask."""

IDLE = ("position_ids", "cache_position", "use_cache")
"""Options that change no result: attention of transformers is given them on the way."""

EXPERTS: dict[str, tuple[bool, str]] = {
    "has_post_expert_norm": (False, "a norm behind them"),
    "_is_expert_parallel": (False, "several devices"),
}
"""What experts of transformers must be, and what they have otherwise."""

ACTIVATIONS = {
    "SiLU": "silu", "SiLUActivation": "silu", "GELU": "gelu", "GELUTanh": "gelu_tanh", "PytorchGELUTanh": "gelu_tanh",
    "NewGELUActivation": "gelu_tanh", "ReLU": "relu",
}  # fmt: skip
"""Names of activations, by their classes."""

_KEYS = ("_attn_implementation", "_experts_implementation")


Refused = Callable[[str], InputError]
"""Makes an error of why something is refused."""


class Marks:
    """Attention and routed experts of transformers as marks.

    ``made``: the paths of the modules that they stand in, in order. Module and float64 copy go through the same one: a
    run with numbers comes first, as transformers does not look at positions while it exports.
    """

    def __init__(self) -> None:
        self.made = dict[str, None]()
        self._paths = dict[int, str]()
        self._before = dict[int, str]()
        self._masks = list[tuple[Tensor, str]]()
        self._plain = list[bool]()
        self._again: Iterator[bool] = iter(())

    @contextmanager
    def within(self, module: nn.Module) -> Iterator[None]:
        """``module`` has marks meanwhile; nothing happens to one that is not of transformers."""
        configs = configs_of(module)
        if not configs:
            yield
            return
        from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
        from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        ALL_ATTENTION_FUNCTIONS.register("step", self._attention)
        ALL_MASK_ATTENTION_FUNCTIONS.register("step", self._mask)
        ALL_EXPERTS_FUNCTIONS.register("step", self._experts)
        self._paths = {id(each): path for path, each in module.named_modules()}
        self._again = cycle(self._plain)
        before = [(each, key, getattr(each, key, None)) for each in configs for key in _KEYS]
        self._before = {id(config): str(value) for config, key, value in before if key == _KEYS[0] and value}
        for config, key, _ in before:
            setattr(config, key, "step")
        try:
            yield
        finally:
            for config, key, value in before:
                setattr(config, key, value)

    # -- attention ------------------------------------------------------------------------------------------------

    def _attention(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        dropout: float = 0.0,
        is_causal: bool | None = None,
        sliding_window: int | None = None,
        **options: Any,
    ) -> tuple[Tensor, None]:
        """Attention as transformers calls it; raises `InputError` for what is not causal attention of all rows."""
        refused = self._refusal(module, "attention")
        for name, option in options.items():
            if option is not None and option is not False and name not in IDLE:
                raise refused(f"has the option {name} = {_shown(option)}, which has no lowering")
        if scaling is not None and not isinstance(scaling, int | float):
            raise refused(f"has scaling = {_shown(scaling)}, but only a number has a lowering")
        expect(not dropout, f"drops {dropout} of its weights: set its dropout to 0", refused)
        if value.shape[-1] != query.shape[-1]:
            wide = f"values of {value.shape[-1]} columns and queries of {query.shape[-1]}"
            raise refused(f"has {wide}: only equal numbers have a lowering")
        rows, keys = query.shape[2], key.shape[2]
        if not (statically_known_true(rows == 1) or statically_known_true(rows == keys)):
            raise refused(f"has {rows} queries and {keys} keys: only as many, or a single query, have a lowering")
        if sliding_window is not None:
            check_window(sliding_window, keys, refused)
        if attention_mask is not None or not statically_known_true(rows == 1):
            self._check_sight(module, attention_mask, is_causal, refused)
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        return attention(query, key, value, scale).transpose(1, 2).contiguous(), None

    def _check_sight(self, module: nn.Module, mask: Tensor | None, is_causal: bool | None, refused: Refused) -> None:
        """Raise unless every row sees all rows up to its own, and no others."""
        if mask is not None:
            kind = next((kind for made, kind in self._masks if made is mask), "which was given")
            expect(not kind, f"has a mask, {kind}: only causal attention without one has a lowering", refused)
            return
        before = self._before.get(id(getattr(module, "config", None))) or CAUSAL[0]
        if before not in CAUSAL:
            raise refused(
                f"has no mask, so as {before!r} every row sees those behind it, too: make the model with "
                f"attn_implementation={CAUSAL[0]!r}, which is causal then"
            )
        if not (getattr(module, "is_causal", True) if is_causal is None else is_causal):
            raise refused("is not causal: every row sees those behind it, too, which has no lowering")

    def _mask(
        self, *, attention_mask: Tensor | None = None, local_size: int | None = None, kv_length: int, **rest: Any
    ) -> Tensor:
        """The mask that transformers makes, known again as plain causal or not where attention gets it."""
        from transformers.masking_utils import sdpa_mask

        plain = bool(rest.pop("allow_is_causal_skip", True))
        if torch.compiler.is_exporting():
            plain = next(self._again, plain)
        else:
            self._plain.append(plain)
        never = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
        made: Tensor = sdpa_mask(
            attention_mask=attention_mask, local_size=local_size, kv_length=kv_length, **{**rest, **never}
        )
        kind = ""
        if attention_mask is not None:
            kind = "of padding, attention_mask"
        elif not plain:
            kind = "which is not plain causal"
        elif local_size is not None and not statically_known_true(kv_length <= local_size):
            kind = f"a window of {local_size} rows"
        self._masks.append((made, kind))
        return made

    # -- experts --------------------------------------------------------------------------------------------------

    def _experts(self, module: Any, x: Tensor, index: Tensor, weight: Tensor, *more: Any, **options: Any) -> Tensor:
        """Experts as transformers calls them; raises `InputError` for others than SwiGLU experts without biases."""
        from transformers.integrations.moe import _default_apply_gate

        refused = self._refusal(module, "experts")
        for name, (right, otherwise) in EXPERTS.items():
            expect(getattr(module, name, right) is right, f"have {otherwise}, which has no lowering", refused)
        expect(not more and not options, "are given more than rows, experts and weights", refused)
        gated, own = getattr(module, "has_gate", True), getattr(module._apply_gate, "__func__", None)
        activation = _activation(getattr(module, "act_fn", None))
        if gated and own is not _default_apply_gate:
            clamped = (getattr(module, "alpha", None), getattr(module, "limit", None)) == (1.702, 7.0)
            activation = "clamped_silu" if clamped else ""
        if not activation:
            name = type(getattr(module, "act_fn", None)).__name__
            known = ", ".join(dict.fromkeys([*ACTIVATIONS.values(), "clamped_silu"]))
            raise refused(f"have the activation {name} or a gate of their own: {known} have a lowering")
        up, bias = ("gate_up_proj" if gated else "up_proj"), getattr(module, "has_bias", False)
        biases = [getattr(module, f"{each}_bias") if bias else None for each in (up, "down_proj")]
        interleaved = gated and not getattr(module, "is_concatenated", True)
        transposed = getattr(module, "is_transposed", False)
        return experts(
            x, index, weight, getattr(module, up), module.down_proj, *biases, activation, transposed, interleaved
        )

    def _refusal(self, module: nn.Module, what: str) -> Refused:
        """Makes errors about the mark in ``module``."""
        path = self._paths.get(id(module), type(module).__name__)
        self.made[path] = None
        return _refusal(f"{what} of {path or type(module).__name__!r}")


def _activation(function: Any) -> str:
    """The name of an activation of transformers; empty for one that experts do not have."""
    kind = type(function).__name__
    if kind in ("GELU", "GELUActivation"):
        return "gelu_tanh" if getattr(function, "approximate", "none") == "tanh" else "gelu"
    return ACTIVATIONS.get(kind, "")


def configs_of(module: nn.Module) -> list[Any]:
    """The configurations of transformers in a module."""
    return list({id(each.config): each.config for each in module.modules() if hasattr(each, "config")}.values())


def _refusal(what: str) -> Refused:
    """Makes errors about ``what``."""
    return lambda why: InputError(f"{what} {why}")


OF_LAYERS = _refusal("attention of the layers")


def check_window(window: int, keys: Any, refused: Refused = OF_LAYERS) -> None:
    """Raise unless all ``keys`` are within the window."""
    if statically_known_true(keys <= window):
        return
    seen = f"and sees {keys}"
    if not isinstance(keys, int):
        seen = f"and may see more: bound the dynamic axis, torch.export.Dim(.., max={window})"
    raise refused(f"has a window of {window} rows, {seen}: a window has a lowering only where no row goes beyond it")


def _shown(value: Any) -> str:
    return f"a tensor {list(value.shape)}" if isinstance(value, Tensor) else repr(value)
