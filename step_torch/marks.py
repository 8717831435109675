"""Marks for what a capture keeps whole: attention and routed experts, through the registries of transformers.

A mark says what it takes, and refuses everything else: what it does not know of may mean something.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx.experimental.symbolic_shapes import statically_known_true

from step.errors import InputError, expect
from step_torch.lacking import configs_of
from step_torch.masks import NEVER
from step_torch.recurrences import in_loops
from step_torch.routed import Refused, experts, experts_of
from step_torch.sights import Sight, asks, sight_of


@torch.library.custom_op("step::attention", mutates_args=())
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    mask: Tensor | None = None,
    sinks: Tensor | None = None,
    causal: bool = True,
    window: int | None = None,
    softcap: float | None = None,
) -> Tensor:
    """Attention of [batch, heads, rows, size], whose last query is as far as the last key; groups of heads share keys.

    ``mask``: True where a row is seen, or what is added to scores. ``sinks``: of each head, a score of nothing.
    ``causal``: nobody sees those behind it. ``window``: how many rows a causal one sees, itself included. ``softcap``:
    scores are never larger.
    """
    group, rows, keys = query.shape[1] // key.shape[1], query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(group, 1) for each in (key, value))
    scores = (query @ key.transpose(2, 3) * scale).to(torch.promote_types(query.dtype, torch.float32))
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    seen = torch.ones(rows, keys, dtype=torch.bool)
    seen = seen.tril(keys - rows) if causal else seen
    seen = seen if window is None else seen.triu(keys - rows - window + 1)
    scores = scores.masked_fill(~seen, -math.inf)
    if sinks is not None:
        column = sinks.to(scores.dtype).reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, column], -1)
    weights = torch.softmax(scores, -1).nan_to_num(0.0)[..., :keys]
    return weights.to(value.dtype) @ value


@attention.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, scale: float, *_: Any, **__: Any) -> Tensor:
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


CAUSAL = ("sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4")
"""Implementations of attention that are causal by themselves; others see all rows where there is no mask."""

IDLE = ("position_ids", "cache_position", "use_cache", "sliding_window")
"""Options that change no result: attention of transformers is given them on the way, windows as masks, too."""


_KEYS = ("_attn_implementation", "_experts_implementation")


class Marks:
    """Attention and routed experts of transformers as marks.

    ``made``: the paths of the modules that they stand in, in order. Module and float64 copy go through the same one: a
    run with numbers comes first, as transformers does not look at positions while it exports.
    """

    def __init__(self) -> None:
        self.made = dict[str, None]()
        self._paths = dict[int, str]()
        self._before = dict[int, str]()
        self._masks = list[tuple[Tensor, Sight, Tensor | None]]()
        self._sights = list[Sight | None]()
        self._again: Iterator[Sight | None] = iter(())

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
        self._again = cycle(self._sights)
        marked = [(each, key) for each in configs for key in _KEYS if key != _KEYS[0] or asks(module, each)]
        before = [(*each, getattr(*each, None)) for each in marked]
        self._before = {id(config): str(value) for config, key, value in before if key == _KEYS[0] and value}
        for config, key, _ in before:
            setattr(config, key, "step")
        try:
            with in_loops(module):
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
        softcap: float | None = None,
        s_aux: Tensor | None = None,
        position_bias: Tensor | None = None,
        **options: Any,
    ) -> tuple[Tensor, None]:
        """Attention as transformers calls it; raises `InputError` for options that a mark does not have."""
        refused = self._refusal(module, "attention")
        for name, option in options.items():
            if option is not None and option is not False and name not in IDLE:
                raise refused(f"has the option {name} = {_shown(option)}, which has no lowering")
        if scaling is not None and not isinstance(scaling, int | float):
            raise refused(f"has scaling = {_shown(scaling)}, but only a number has a lowering")
        expect(not dropout, f"drops {dropout} of its weights: set its dropout to 0", refused)
        rows, keys = query.shape[2], key.shape[2]
        sight, mask = self._seen(module, attention_mask, is_causal, single=statically_known_true(rows == 1))
        if sight.causal and not statically_known_true(rows == 1) and not statically_known_true(rows == keys):
            raise refused(f"is causal, with {rows} queries and {keys} keys: only as many, or a single query, have a "
                          "lowering")  # fmt: skip
        if position_bias is not None:
            mask = position_bias if mask is None else position_bias.masked_fill(~mask, NEVER)
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        result = attention(query, key, value, scale, mask, s_aux, sight.causal, sight.window, softcap)
        return result.transpose(1, 2).contiguous(), None

    def _seen(
        self, module: nn.Module, mask: Tensor | None, is_causal: bool | None, *, single: bool
    ) -> tuple[Sight, Tensor | None]:
        """The rows that one sees, as transformers means it, and a mask besides, if there is one."""
        if mask is not None:
            return next(((sight, more) for made, sight, more in self._masks if made is mask), (Sight(False), mask))
        before = self._before.get(id(getattr(module, "config", None))) or CAUSAL[0]
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        return Sight(bool(causal) and before in CAUSAL and not single), None

    def _mask(self, *, attention_mask: Tensor | None = None, **rest: Any) -> Tensor:
        """The mask that transformers makes, known again where attention gets it."""
        from transformers.masking_utils import sdpa_mask

        plain = rest.pop("allow_is_causal_skip", True) or rest.pop("allow_is_bidirectional_skip", False)
        if torch.compiler.is_exporting():
            sight = next(self._again)
        else:
            sight = sight_of(rest["mask_function"], rest.get("local_size") or rest["kv_length"]) if plain else None
            self._sights.append(sight)
        never = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
        made: Tensor = sdpa_mask(attention_mask=attention_mask, **{**rest, **never})
        padding = None if attention_mask is None else attention_mask[:, None, None, :]
        self._masks.append((made, *((Sight(False), made) if sight is None else (sight, padding))))
        return made

    # -- experts --------------------------------------------------------------------------------------------------

    def _experts(self, module: Any, x: Tensor, index: Tensor, weight: Tensor, *more: Any, **options: Any) -> Tensor:
        """Experts as transformers calls them; raises `InputError` for others than SwiGLU experts without biases."""
        refused = self._refusal(module, "experts")
        expect(not more and not options, "are given more than rows, experts and weights", refused)
        return experts(x, index, weight, *experts_of(module, refused))

    def _refusal(self, module: nn.Module, what: str) -> Refused:
        """Makes errors about the mark in ``module``."""
        path = self._paths.get(id(module), type(module).__name__)
        self.made[path] = None
        return lambda why: InputError(f"{what} of {path or type(module).__name__!r} {why}")


def _shown(value: Any) -> str:
    return f"a tensor {list(value.shape)}" if isinstance(value, Tensor) else repr(value)
