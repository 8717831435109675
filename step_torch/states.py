"""State that layers keep from step to step, as models of transformers see it: keys and values, or what recurs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from step_torch.lacking import layers_of

Kept = Mapping[tuple[int, str], Tensor]
"""What layers keep, by their numbers and its names: keys and values, to which rows are added, then what is replaced."""

ROWS = ("keys", "values")

OWN = ("conv1d_state", "recurrent_states")
"""States that modules of RecurrentGemma have as attributes, beside the cache."""


class Past:
    """The cache as models see it: rows that are there with the new ones behind, all of them in all layers, and states
    that are changed in place.

    A latent cache has keys and values of heads, too: what a model makes of latent rows is made of each row once.
    """

    is_compileable = False

    def __init__(self, kept: Kept, position: Tensor | None = None) -> None:
        self._position, self._latent = position, dict[int, Any]()
        self._kept = {(layer, name): each if name in ROWS else each.clone() for (layer, name), each in kept.items()}
        self.is_sliding = [False] * len({layer for layer, _ in kept})

    @property
    def states(self) -> list[Tensor]:
        """All states behind the step."""
        return [each for (_, name), each in self._kept.items() if name not in ROWS]

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keys and values of all rows, or the latent ones of the new rows."""
        return (keys, values) if layer in self._latent else self._longer(keys, values, layer)

    def _longer(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        before, after = (self._kept[layer, name] for name in ROWS)
        return torch.cat([before, keys], 2), torch.cat([after, values], 2)

    @contextmanager
    def within(self, layers: nn.Module) -> Iterator[None]:
        """Latent rows of ``layers`` become keys and values behind those that are there, and their own states are these,
        meanwhile."""
        self._latent = latent_of(layers) if self._kept else {}
        own = {key: each for key, each in owners_in(layers).items() if key in self._kept}
        latent = [(each, "expand_kv", partial(self._expanded, each.expand_kv, at)) for at, each in self._latent.items()]
        with instead([*latent, *((each, key[1], self._kept[key]) for key, each in own.items())]):
            yield
            self._kept.update((key, getattr(each, key[1])) for key, each in own.items())

    def _expanded(self, expand: Any, layer: int, *latent: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = expand(*latent)
        return self._longer(keys, values, layer)

    def get_seq_length(self, layer: int | None = None) -> int | Tensor:
        """Rows that are there: for a layer, which computes with it, the position of a step."""
        return self.get_query_offset() if layer is None or self._position is None else self._position

    def get_query_offset(self, *_: Any) -> int:
        """Rows before the new ones."""
        return next((each.shape[2] for (_, name), each in self._kept.items() if name in ROWS), 0)

    def get_mask_sizes(self, rows: int, *_: Any) -> tuple[int, int]:
        """Rows with the new ones, of which the first one is number 0."""
        return self.get_query_offset() + rows, 0

    def get_conv_state(self, layer: int, state_idx: int = 0) -> Tensor:
        """Columns that a convolution saw last."""
        return self._kept[layer, f"conv_states_{state_idx}"]

    def get_recurrent_state(self, layer: int, state_idx: int = 0) -> Tensor:
        """What recurs."""
        return self._kept[layer, f"recurrent_states_{state_idx}"]

    def update_conv_state(self, new: Tensor, layer: int, state_idx: int = 0, **_: Any) -> Tensor:
        """The columns with ``new`` ones behind, of which the last are kept."""
        kept = self.get_conv_state(layer, state_idx)
        every = torch.cat([kept, new], -1)
        kept.copy_(every[..., -kept.shape[-1] :])
        return every

    def update_recurrent_state(self, new: Tensor, layer: int, state_idx: int = 0, **_: Any) -> Tensor:
        """The ``new`` state."""
        return self.get_recurrent_state(layer, state_idx).copy_(new)

    def is_recording_past(self, *_: Any) -> bool:
        """Whether earlier states are kept, too."""
        return False

    def given(self, model: Any) -> dict[str, Any]:
        """The argument of ``model`` that it is; RWKV has each of its states for all layers."""
        name = cache_name(model)
        names = dict.fromkeys(each for _, each in self._kept)
        return {name: [_OfLayers(self._kept, each) for each in names] if name == RWKV else self}


class _OfLayers:
    """A state as one tensor [batch, size, layers], of which each layer reads and writes its own."""

    def __init__(self, kept: dict[tuple[int, str], Tensor], name: str) -> None:
        self._kept, self._name = kept, name

    def __getitem__(self, at: tuple[slice, slice, int]) -> Tensor:
        return self._kept[at[2], self._name]

    def __setitem__(self, at: tuple[slice, slice, int], new: Tensor) -> None:
        self._kept[at[2], self._name] = new


@contextmanager
def instead(entries: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    """Objects have these entries by their names meanwhile, whatever their own are."""
    before = [(vars(each), name, {name: vars(each)[name]} if name in vars(each) else {}) for each, name, _ in entries]
    for each, name, entry in entries:
        vars(each)[name] = entry
    try:
        yield
    finally:
        for own, name, entry in before:
            own.pop(name)
            own.update(entry)


RWKV = "state"
"""The name of the cache in RWKV, which is a list of tensors."""


def latent_of(layers: nn.Module) -> dict[int, Any]:
    """The modules that make keys and values of latent rows, by the numbers of their layers."""
    return {each.layer_idx: each for each in layers.modules() if hasattr(each, "expand_kv")}


def owners_in(layers: Any) -> dict[tuple[int, str], nn.Module]:
    """The modules that have states as attributes, by the numbers of their layers and the names of these."""
    modules = ((number, each) for number, layer in enumerate(layers) for each in layer.modules())
    return {(number, name): each for number, each in modules for name in OWN if name in vars(each)}


def begun(model: Any) -> dict[tuple[int, str], nn.Module]:
    """The same of a ``model``, which keeps nothing of a text before."""
    own = owners_in(layers_of(model))
    for (_, name), each in own.items():
        setattr(each, name, None)
    return own


def cache_name(model: Any) -> str:
    """The name of the argument that is the cache."""
    accepted = inspect.signature(type(model).forward).parameters
    return next((each for each in ("cache", "past_key_values", RWKV) if each in accepted), "cache")


@contextmanager
def unscaled(model: Any) -> Iterator[None]:
    """The layers of RWKV have their own weights meanwhile: in BF16 there is no need for smaller rows behind some."""
    body = getattr(model, "base_model", model)
    if not hasattr(body, "_rescale_layers"):
        yield
        return
    if body.layers_are_rescaled:
        body.training = True
        body._rescale_layers()
        body.training = False
    every, body.config.rescale_every = body.config.rescale_every, 0
    try:
        yield
    finally:
        body.config.rescale_every, body.layers_are_rescaled = every, False


def kept_behind(model: Any, tokens: Tensor) -> dict[tuple[int, str], Tensor]:
    """What all layers keep behind ``tokens``, keys and values first."""
    from transformers.cache_utils import DynamicCache, DynamicLayer, LinearAttentionCacheLayerMixin

    name = cache_name(model)
    if name == RWKV:
        found, layers = [*enumerate(model(tokens, use_cache=True).state)], range(len(model.base_model.blocks))
        return {(layer, str(at)): each[..., layer] for layer in layers for at, each in found}
    cache = DynamicCache(config=model.config)
    for number, layer in enumerate(cache.layers):
        if not isinstance(layer, LinearAttentionCacheLayerMixin):
            cache.layers[number] = DynamicLayer()  # of all rows, where a window keeps some
    own = begun(model)
    model(tokens, use_cache=True, **{name: cache})
    for number, module in latent_of(model).items():
        layer = cache.layers[number]
        layer.keys, layer.values = module.expand_kv(layer.keys, layer.values)
    every = [(number, *each) for number, layer in enumerate(cache.layers) for each in _kept(layer)]
    every += [(*key, getattr(each, key[1])) for key, each in own.items()]
    return {(number, name): each for number, name, each in sorted(every, key=lambda each: each[1] not in ROWS)}


def _kept(layer: Any) -> Iterator[tuple[str, Tensor]]:
    if getattr(layer, "keys", None) is not None:
        yield from ((name, getattr(layer, name)) for name in ROWS)
    for kind in ("conv_states", "recurrent_states"):
        some = getattr(layer, kind, {})
        yield from ((f"{kind}_{number}", each) for number, each in some.items() if each is not None)


def first_states(kept: Kept, room: int) -> list[Tensor]:
    """What is ``kept`` in front of the first token: states, and rows that are none yet, for ``room`` tokens."""
    return [
        torch.zeros(1, each.shape[1], room - 1, each.shape[3], dtype=torch.bfloat16)
        if name in ROWS
        else torch.full_like(each, -1e30 if name == LARGEST else 0.0)
        for (_, name), each in kept.items()
    ]


LARGEST = "4"
"""The state of RWKV that is the largest weight so far."""
