"""Layers of a model of transformers by themselves, and the tables of positions that they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from step.errors import InputError
from step_torch.calling import calling
from step_torch.lacking import lacking, layers_of, listed
from step_torch.marks import check_window


class Layers(nn.Module):
    """First decoder layers of a model of transformers, as a module: rows in, rows out.

    ``model``: the model.
    ``count``: how many layers.

    It is called with rows ``[1, rows, hidden]``, the tables of `tables`, if the model has any, and where it decodes
    keys and values of each layer, ``[1, heads, rows, size]``.

    Raises `InputError` for a model without such layers, or one that is not causal.

    >>> layer, positions = step_torch.Layers(model), step_torch.tables(model, range(16))  # doctest: +SKIP
    >>> step_torch.capture(layer, (rows, *positions), "layer.pt2")  # doctest: +SKIP
    PosixPath('layer.pt2')
    """

    def __init__(self, model: nn.Module, count: int = 1) -> None:
        super().__init__()
        body = model.base_model if hasattr(model, "base_model") else model
        self.rotary = hasattr(body, "rotary_emb")
        layers = layers_of(model)
        if layers is None:
            raise InputError(
                f"{type(model).__name__} has no layers that can be captured: `layers` or `h` of its base_model are"
                f"{listed(lacking(model))}"
            )
        self.layers = nn.ModuleList(layers[:count])
        self.config = model.config
        if not getattr(self.config, "is_causal", True):
            raise InputError(f"{type(model).__name__} is not causal: its rows see those behind them, too")
        self.masked = self.config._attn_implementation == "eager"  # which is not causal by itself
        told = any(hasattr(each, "sliding_window") for each in self.layers.modules())
        names = ("attention_chunk_size", *(() if told else ("sliding_window",)))
        self.windows = [each for name in names if (each := getattr(self.config, name, None))]

    def forward(self, x: Tensor, *rest: Tensor) -> Tensor:
        from transformers.masking_utils import create_causal_mask

        positions, past = (rest[:2], rest[2:]) if self.rotary else ((), rest)
        more: dict[str, Any] = {"position_embeddings": positions} if positions else {}
        if past:
            more["past_key_values"] = _Past(past)
        mask = create_causal_mask(self.config, x, None, None) if self.masked else None
        for layer in self.layers:
            x = layer(x, attention_mask=mask, **more)
            x = x[0] if isinstance(x, tuple) else x
        for window in self.windows:  # of masks, which are made for a model as a whole
            check_window(window, x.shape[1] + (past[0].shape[2] if past else 0))
        return x


class _Past:
    """The cache as layers see it: rows that are there, with the new ones behind."""

    def __init__(self, past: Sequence[Tensor]) -> None:
        self._past = past

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keys and values of all rows."""
        before, after = self._past[2 * layer : 2 * layer + 2]
        return torch.cat([before, keys], 2), torch.cat([after, values], 2)


def tables(model: nn.Module, positions: Sequence[int]) -> tuple[Tensor, ...]:
    """Cosines and sines ``[1, positions, size]`` that layers of ``model`` take; none without a rotary embedding.

    ``model``: a model of transformers.
    ``positions``: their numbers, in the order of the rows.

    >>> cosines, sines = step_torch.tables(model, range(16))  # doctest: +SKIP
    """
    body = model.base_model
    if not hasattr(body, "rotary_emb"):
        return ()
    kind, kept = type(model).__name__, next(model.parameters()).dtype
    blank = torch.zeros(1, len(positions), 1, dtype=kept)
    with calling(model, f"{kind} gives no tables of positions"):
        found = body.rotary_emb(blank, torch.tensor(list(positions))[None])
    if not isinstance(found, tuple) or len(found) != 2:
        what = f"{name_of(found.dtype)}{list(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        raise InputError(
            f"{kind} gives no tables of positions: rotary_emb must give cosines and sines, not {what}"
            f"{listed(lacking(model))}"
        )
    return tuple(each.to(kept) for each in found)


def name_of(dtype: torch.dtype) -> str:
    """The name of a format of torch, as people write it."""
    return str(dtype).removeprefix("torch.")
