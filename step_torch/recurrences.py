"""Recurrences of transformers as one loop over rows: the `scan` of torch, whose body is a step from state to state.

transformers writes them in chunks, or with all steps one after the other: neither is a loop once it is exported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan_op

from step_torch.states import instead


def looped(
    step: Callable[..., tuple[Tensor, ...]], states: Sequence[Tensor], rows: Sequence[Tensor], *more: Tensor
) -> tuple[Tensor, ...]:
    """States behind the last row, and all results [batch, rows, ..] of ``step(*states, *row, *more)``."""
    rows = [each.transpose(0, 1) for each in rows]
    if len(rows[0]) == 1:
        *states, result = step(*states, *(each[0] for each in rows), *more)
        return *states, result[:, None]
    *states, results = scan_op(step, [*states], rows, more)
    return *states, results.transpose(0, 1)


def recurrence(
    decay: Tensor, key: Tensor, value: Tensor, query: Tensor, beta: Tensor | None = None, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The last state, and rows of ``state @ query`` [batch, rows, heads, size], where a row makes
    ``state = decay * state + outer(value, key)``.

    ``key`` and ``query`` [batch, rows, heads, keys], ``value`` [batch, rows, heads, size], ``decay`` [batch, rows,
    heads, size or 1, keys or 1]. With ``beta`` [batch, rows, heads, 1], that of the delta rule, values are ``beta *
    (value - state @ key)``. ``state`` [batch, heads, size, keys] is zero where there is none.
    """

    def step(state: Tensor, decay: Tensor, key: Tensor, value: Tensor, query: Tensor, *beta: Tensor) -> Any:
        state = decay * state
        if beta:
            value = beta[0] * (value - (state * key[..., None, :]).sum(-1))
        state = state + value[..., None] * key[..., None, :]
        return state, (state * query[..., None, :]).sum(-1)

    rows = [_wide(each) for each in (decay, key, value, query, beta) if each is not None]
    batch, _, heads, keys = key.shape
    state = rows[0].new_zeros(batch, heads, value.shape[-1], keys) if state is None else _wide(state)
    state, results = looped(step, [state], rows)
    return state, results


def _wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _shared(x: Tensor, heads: int) -> Tensor:
    """``x`` of so many heads, of which each group shares one [batch, rows, groups, size]."""
    return x[:, :, :, None].expand(-1, -1, -1, heads // x.shape[2], -1).flatten(2, 3)


def _steps(dt: Tensor, bias: Tensor | None, softplus: bool) -> Tensor:
    """Lengths of steps in time."""
    dt = _wide(dt) if bias is None else _wide(dt) + bias
    return nn.functional.softplus(dt) if softplus else dt


def _selective(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = None, z: Tensor | None = None,
    delta_bias: Tensor | None = None, delta_softplus: bool = False, return_last_state: bool = False,
    state: Tensor | None = None, **_: Any,
) -> Any:  # fmt: skip
    """Mamba: channels [batch, size, rows] with a decay for each number of a state."""
    x, dt, B, C = (each.transpose(1, 2) for each in (x, dt, B, C))
    dt = _steps(dt, delta_bias, delta_softplus)
    decay = torch.exp(dt[..., None] * A)
    state = None if state is None else state[:, None]
    decay, key, value, query = (each[:, :, None] for each in (decay, B, dt * x, C))
    state, y = recurrence(decay, key, value, query, state=state)
    y = y[:, :, 0] if D is None else y[:, :, 0] + x * D
    y = y.transpose(1, 2) if z is None else y.transpose(1, 2) * nn.functional.silu(z)
    return (y, state[:, 0]) if return_last_state else y


def _by_head(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk_size: int, D: Tensor | None = None,
    dt_bias: Tensor | None = None, initial_states: Tensor | None = None, dt_softplus: bool = False,
    dt_limit: tuple[float, float] = (0.0, float("inf")), return_final_states: bool = False, **_: Any,
) -> Any:  # fmt: skip
    """Mamba-2: heads [batch, rows, heads, size] with a decay for each, of which a group shares keys and queries."""
    dt = _steps(dt, dt_bias, dt_softplus)
    dt = dt if dt_limit == (0.0, float("inf")) else dt.clamp(*dt_limit)
    key, query = (_shared(each, x.shape[2]) for each in (B, C))
    decay = torch.exp(dt * A)[..., None, None]
    state, y = recurrence(decay, key, dt[..., None] * x, query, state=initial_states)
    y = y if D is None else y + D[:, None] * x
    return (y, state) if return_final_states else y


def _step_of_selective(
    state: Tensor, x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = None,
    dt_bias: Tensor | None = None, dt_softplus: bool = False, z: Tensor | None = None, **_: Any,
) -> Tensor:  # fmt: skip
    """A row of Mamba."""
    x, dt, B, C = (each[..., None] for each in (x, dt, B, C))
    z = None if z is None else z[..., None]
    y, new = _selective(x, dt, A, B, C, D, z, dt_bias, dt_softplus, return_last_state=True, state=state)
    state.copy_(new)
    return y[..., 0]


def _step_by_head(
    state: Tensor, x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = None,
    dt_bias: Tensor | None = None, dt_softplus: bool = False, z: Tensor | None = None, **_: Any,
) -> Tensor:  # fmt: skip
    """A row of Mamba-2, whose numbers of heads are there for all of their sizes."""
    D, dt_bias = (each if each is None else each[:, 0] for each in (D, dt_bias))
    x, dt, B, C = (each[:, None] for each in (x, dt[..., 0], B, C))
    y, new = _by_head(x, dt, A[:, 0, 0], B, C, 1, D, dt_bias, state, dt_softplus, return_final_states=True)
    state.copy_(new)
    return y[:, 0] if z is None else y[:, 0] * nn.functional.silu(z)


def _step_of_convolution(
    x: Tensor, state: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str | None = None
) -> Tensor:
    """A column behind those that a convolution of channels [batch, size, columns] saw last."""
    from transformers.activations import ACT2FN

    every = torch.cat([state, x], -1)
    state.copy_(every[..., -state.shape[-1] :])
    y = (_wide(every[..., -weight.shape[-1] :]) * weight).sum(-1, keepdim=True)
    y = y if bias is None else y + bias[:, None]
    return y.to(x.dtype) if activation is None else ACT2FN[activation](y.to(x.dtype))


def _delta(
    query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, initial_state: Tensor | None = None,
    output_final_state: bool = False, use_qk_l2norm_in_kernel: bool = False, **_: Any,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """The gated delta rule, whose decay is e^g: one of a head, or of each of its keys."""
    query, key = (_wide(each) for each in (query, key))
    if use_qk_l2norm_in_kernel:
        query, key = (each * torch.rsqrt((each * each).sum(-1, keepdim=True) + 1e-6) for each in (query, key))
    query, key = (_shared(each, value.shape[2]) for each in (query * query.shape[-1] ** -0.5, key))
    state = None if initial_state is None else initial_state.mT
    decay = torch.exp(_wide(g if g.ndim == key.ndim else g[..., None]))[..., None, :]
    state, y = recurrence(decay, key, value, query, beta[..., None], state)
    return y.to(value.dtype), state.mT if output_final_state else None


def _weighted(
    time_decay: Tensor, time_first: Tensor, key: Tensor, value: Tensor, state: Any = None, return_state: bool = False
) -> tuple[Tensor, Any]:
    """RWKV: a mean of values with weights e^key that decay, relative to the largest so far; those of a row by itself
    are e^(key + time_first).
    """

    def step(
        total: Tensor, weights: Tensor, most: Tensor, now: Tensor, key: Tensor, value: Tensor, rate: Tensor
    ) -> Any:
        top = torch.maximum(most, now)
        old, new = torch.exp(most - top), torch.exp(now - top)
        result = (old * total + new * value) / (old * weights + new)
        top = torch.maximum(most - rate, key)
        old, new = torch.exp(most - rate - top), torch.exp(key - top)
        return old * total + new * value, old * weights + new, top, result

    key, value, shape = _wide(key), _wide(value), (len(key), key.shape[-1])
    states = state or [key.new_zeros(shape), key.new_zeros(shape), key.new_full(shape, -1e38)]
    *state, y = looped(step, states, [key + time_first, key, value], torch.exp(_wide(time_decay)))
    return y.to(time_first.dtype), state if return_state else None


def _lstm(products: Sequence[Tensor], state: Tensor, cell: Tensor, *shares: Tensor) -> tuple[Tensor, ...]:
    enter, keep, new, show = (share + product for share, product in zip(shares, products, strict=True))
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(show) * torch.tanh(cell), cell


def _gru(products: Sequence[Tensor], state: Tensor, *shares: Tensor) -> tuple[Tensor, ...]:
    reset, keep, product = products
    new = torch.tanh(shares[2] + torch.sigmoid(shares[0] + reset) * product)
    return (torch.sigmoid(shares[1] + keep) * (state - new) + new,)


def _plain(function: Callable[[Tensor], Tensor], products: Sequence[Tensor], state: Tensor, share: Tensor) -> Any:
    return (function(share + products[0]),)


def _stepping(cell: Callable[..., tuple[Tensor, ...]], states: int, gates: int) -> Callable[..., tuple[Tensor, ...]]:
    """A step of ``cell`` from ``states``, and shares of the input in its gates; those of its output are products."""

    def step(state: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
        inner, weights = given[: states - 1 + gates], given[states - 1 + gates :]
        products = nn.functional.linear(_wide(state), *weights).chunk(gates, -1)
        new, *kept = cell(products, _wide(state), *inner)
        new = new.to(state.dtype)
        return new, *kept, new.clone()

    return step


def _layers(
    cell: Callable[..., tuple[Tensor, ...]], x: Tensor, states: Any, weights: Sequence[Tensor], has_biases: bool,
    count: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Layers of LSTM, GRU or RNN: shares of the input in all gates are products of all rows at once."""
    x, states = x if batch_first else x.transpose(0, 1), states if isinstance(states, list) else [states]
    sides, width, ends = 1 + bidirectional, 2 + 2 * has_biases, list[Sequence[Tensor]]()
    for layer in range(count):
        found = list[Tensor]()
        for number in range(layer * sides, (layer + 1) * sides):
            of_input, of_state, *biases = map(_wide, weights[number * width : (number + 1) * width])
            first, *others = (each[number] for each in states)
            gates = len(of_state) // of_state.shape[1]
            shares = nn.functional.linear(_wide(x), of_input, *biases[:1]).chunk(gates, -1)
            rows = [each.flip(1) for each in shares] if number % sides else shares
            step = _stepping(cell, len(states), gates)
            *last, result = looped(step, [first, *map(_wide, others)], rows, of_state, *biases[1:])
            ends.append([each.to(x.dtype) for each in last])
            found.append(result.flip(1) if number % sides else result)
        x = torch.cat(found, -1) if bidirectional else found[0]
    return x if batch_first else x.transpose(0, 1), *(torch.stack(each) for each in zip(*ends, strict=True))


CELLS = {
    torch.ops.aten.lstm.input: partial(_layers, _lstm), torch.ops.aten.gru.input: partial(_layers, _gru),
    torch.ops.aten.rnn_tanh.input: partial(_layers, partial(_plain, torch.tanh)),
    torch.ops.aten.rnn_relu.input: partial(_layers, partial(_plain, torch.relu)),
}  # fmt: skip
"""Recurrent layers of torch, by their operators, as loops."""

FORMS: dict[str, Callable[..., Any]] = {
    "mamba_selective_scan": _selective,
    "mamba_selective_state_update": _step_of_selective,
    "mamba2_chunk_scan": _by_head,
    "mamba2_selective_state_update": _step_by_head,
    "causal_conv1d_update": _step_of_convolution,
    "torch_chunk_gated_delta_rule": _delta,
    "torch_recurrent_gated_delta_rule": _delta,
    "chunk_kimi_delta_attention": _delta,
    "recurrent_kimi_delta_attention": _delta,
    "rwkv_linear_attention": _weighted,
}
"""Functions of transformers, by their names in the files of models, as loops."""


@contextmanager
def in_loops(module: nn.Module) -> Iterator[None]:
    """``module`` has recurrences of transformers as loops meanwhile."""
    files = {sys.modules[type(each).__module__] for each in module.modules()}
    with instead([(file, name, form) for file in files for name, form in FORMS.items() if hasattr(file, name)]):
        yield
