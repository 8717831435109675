"""Layers of a model of transformers by themselves, and the tables of positions that they take."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from step.errors import InputError
from step_torch.calling import calling
from step_torch.lacking import lacking, listed, owner_of
from step_torch.references import results_of
from step_torch.states import ROWS, Past, instead


class Layers(nn.Module):
    """First layers of a model of transformers, a decoder or an encoder, as a module: rows in, rows out.

    ``model``: the model.
    ``count``: how many layers.

    It is called with rows ``[1, rows, hidden]``, the tables of `tables`, if the model has any, and where it decodes
    keys and values of each layer, ``[1, heads, rows, size]``. Layers get the rest as the model gives it: masks, biases
    of positions.

    Raises `InputError` for a model without layers.

    >>> layer, positions = step_torch.Layers(model), step_torch.tables(model, range(16))  # doctest: +SKIP
    >>> step_torch.capture(layer, (rows, *positions), "layer.pt2")  # doctest: +SKIP
    PosixPath('layer.pt2')
    """

    def __init__(self, model: nn.Module, count: int = 1) -> None:
        super().__init__()
        if (found := owner_of(model)) is None:
            raise InputError(
                f"{type(model).__name__} has no layers that can be captured: no list of modules is in it"
                f"{listed(lacking(model))}"
            )
        body, name = found
        if hasattr(body, "_rescale_layers"):  # as RWKV's weights are when it is run
            body._rescale_layers()
        self.layers = nn.ModuleList(getattr(body, name)[:count])
        self.config = model.config
        self.kinds = kinds_of(body)
        with calling(model, f"{type(model).__name__} gives no tables of positions"):
            self.is_complex = is_complex(body, self.kinds)
        self._drive = [body, name]  # not a module of this one: only its `forward` is wanted

    def forward(self, x: Tensor, *rest: Tensor) -> Tensor:
        tables, past = rest[: 2 * len(self.kinds)], rest[2 * len(self.kinds) :]
        body, name = self._drive
        accepted = inspect.signature(type(body).forward).parameters
        names = [(layer, name) for layer in range(len(past) // 2) for name in ROWS]
        cache = Past(dict(zip(names, past, strict=True)))
        given: dict[str, Any] = cache.given(body) if past else {}
        rows = next((each for each in ("inputs_embeds", "hidden_states") if each in accepted), None)
        if rows is None:  # it begins with images or sounds, and asks nothing of its layers
            for layer in self.layers:
                _, *more = inspect.signature(layer.forward).parameters.values()
                x = results_of(layer(x, **{each.name: None for each in more if each.default is each.empty}))[0]
            return x
        driver = copy.copy(body)
        driver._modules = {}
        for each, module in body._modules.items():
            is_list = isinstance(module, nn.ModuleList)
            driver.__dict__[each] = module if is_list else _Delegate(module, partial(_beside, x))
        driver.__dict__[name] = [
            _Delegate(each, partial(_step, None if number else x, number + 1 == len(self.layers)))
            for number, each in enumerate(self.layers)
        ]
        if "use_cache" in accepted:
            given["use_cache"] = bool(past)
        try:
            with turning(driver, self.kinds, tables, is_complex=self.is_complex), cache.within(self.layers):
                type(body).forward(driver, **{rows: x.clone(), **given})
        except _Through as done:
            return done.rows
        raise InputError(f"{type(body).__name__} does not call its layers one after the other")


class _Delegate:
    """A module that is called in another way; all else is that of the module."""

    def __init__(self, module: nn.Module, call: Callable[..., Any]) -> None:
        self._module, self._call = module, call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._call(self._module, *args, **options)


def _beside(x: Tensor, module: nn.Module, *args: Any, **options: Any) -> Any:
    """A module beside the layers: one that is given rows, as a norm or a projection, leaves them as they are."""
    given = (each.shape for each in (*args, *options.values()) if isinstance(each, Tensor))
    return x if x.shape in given else module(*args, **options)


def _step(x: Tensor | None, last: bool, layer: nn.Module, rows: Tensor, *args: Any, **options: Any) -> Any:
    """A layer as the model calls it; the first one gets ``x``, and behind the last one it ends."""
    result = layer(rows if x is None else x, *args, **options)
    if last:
        raise _Through(results_of(result)[0])
    return result


class _Through(Exception):
    """The rows are through all layers."""

    def __init__(self, rows: Tensor) -> None:
        super().__init__()
        self.rows = rows


@contextmanager
def turning(body: Any, kinds: Sequence[str | None], tables: Sequence[Tensor], *, is_complex: bool) -> Iterator[None]:
    """``body`` finds these ``tables`` of positions meanwhile, cosines and sines of each of ``kinds``."""
    pairs = dict(zip(kinds, zip(tables[::2], tables[1::2], strict=True), strict=True))
    made = {kind: torch.complex(*pair) if is_complex else pair for kind, pair in pairs.items()}
    entry = (body, "rotary_emb", lambda _, position_ids=None, layer_type=None: made[layer_type])
    with instead([entry] if made else []):
        yield


def is_complex(body: Any, kinds: Sequence[str | None]) -> bool:
    """Whether a body turns by complex numbers, in place of cosines and sines."""
    return any(getattr(_turns(body, [0], each), "is_complex", bool)() for each in kinds)


def _turns(body: Any, positions: Sequence[int], kind: str | None) -> Any:
    """What a body turns rows at these ``positions`` by."""
    blank = torch.zeros(1, len(positions), 1, dtype=next(body.parameters()).dtype)
    return body.rotary_emb(blank, torch.tensor([*positions])[None], **({} if kind is None else {"layer_type": kind}))


def kinds_of(body: Any) -> list[str | None]:
    """The kinds of tables that a body has: of all of its layers, by their types, or none."""
    if getattr(body, "rotary_emb", None) is None:
        return []
    if "layer_type" not in inspect.signature(body.rotary_emb.forward).parameters:
        return [None]
    return list(dict.fromkeys(body.config.layer_types))


def tables(model: nn.Module, positions: Sequence[int]) -> tuple[Tensor, ...]:
    """Cosines and sines ``[1, positions, size]`` that layers of ``model`` take; none without a rotary embedding.

    ``model``: a model of transformers; one whose layers are of several types has those of each type.
    ``positions``: their numbers, in the order of the rows.

    >>> cosines, sines = step_torch.tables(model, range(16))  # doctest: +SKIP
    """
    body, _ = owner_of(model) or (model, "")
    kind, made = type(model).__name__, list[Tensor]()
    for each in kinds_of(body):
        with calling(model, f"{kind} gives no tables of positions"):
            found = _turns(body, positions, each)
            if isinstance(found, Tensor) and found.is_complex():
                made += [found.real.clone(), found.imag.clone()]
                continue
            cosines, sines = found
        made += [each.to(next(model.parameters()).dtype) for each in (cosines, sines)]
    return tuple(made)


def name_of(dtype: torch.dtype) -> str:
    """The name of a format of torch, as people write it."""
    return str(dtype).removeprefix("torch.")
