"""Routings of tokens to experts: measured traces, and samples of stated statistics.

A routing is an array of integers [tokens, experts per token], the ids of different experts in each row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from step.errors import FormatError, InputError
from step.language.parameters import Within, settled
from step.programs.data.npz import read_arrays
from step_models.checking import as_array, require, workload
from step_models.configurations import DATA, Configuration

MOST = 1 << 20
"""Experts, or tokens, of a routing; what is beyond is a slip of the pen."""

LAYERS = {
    ("Mixtral-8x7B", 64): (10, "mixtral_b64"),
    ("Mixtral-8x7B", 1024): (9, "mixtral_b1024"),
    ("Qwen3-30B-A3B", 64): (12, "qwen_b64"),
    ("Qwen3-30B-A3B", 1024): (16, "qwen_b1024"),
}
"""By model and number of tokens, the layer that was measured, and the name of its trace."""


@workload
def check_routing(
    routing: np.ndarray, experts: int, experts_per_token: int | None = None, *, name: str = "routing"
) -> np.ndarray:
    """``routing`` itself; `InputError`, which calls it ``name``, unless it is one for so many experts."""
    routing = as_array(routing, name)
    require(1 <= experts <= MOST, f"{name}: there must be 1 to {MOST:,} experts, not {experts:,}")
    if routing.ndim != 2 or routing.dtype.kind not in "iu":
        raise InputError(f"{name} must be integers [tokens, k], not {routing.dtype} {list(routing.shape)}")
    tokens, chosen = routing.shape
    require(tokens != 0, f"{name} must have at least one token, not {list(routing.shape)}")
    if experts_per_token is not None and chosen != experts_per_token:
        raise InputError(f"{name} must have {experts_per_token} experts a token, not {chosen}")
    require(1 <= chosen <= experts, f"{name} must have 1 to {experts} experts a token, not {chosen}")
    if not 0 <= routing.min() <= routing.max() < experts:
        raise InputError(
            f"{name}: expert ids must be 0 to {experts - 1}, but go from {routing.min()} to {routing.max()}"
        )
    ordered = np.sort(routing, axis=1)
    twice = np.argwhere(ordered[:, 1:] == ordered[:, :-1])
    if len(twice):
        token, place = twice[0]
        raise InputError(
            f"{name}: the experts of a token must differ, but token {token} has {ordered[token, place]} twice"
        )
    return routing


@workload
def read_routing(path: Path | str, experts: int, experts_per_token: int | None = None) -> np.ndarray:
    """The array ``data`` of an .npz file; raises `FormatError` for a file of another form."""
    arrays = read_arrays(path)
    if "data" not in arrays:
        raise FormatError(f"{path} must have an array 'data', not {', '.join(arrays) or 'nothing'}")
    try:
        return check_routing(arrays["data"], experts, experts_per_token, name=f"{path}: 'data'")
    except InputError as error:
        raise FormatError(str(error)) from None


@workload
def measured_routing(name: str, experts: int, experts_per_token: int | None = None) -> np.ndarray:
    """A trace that comes with the package: ``mixtral_b64``, ``mixtral_b1024``, ``qwen_b64`` or ``qwen_b1024``."""
    folder = DATA / "expert_routing"
    known = sorted(each.stem for each in folder.glob("*.npz"))
    require(name in known, f"there is no measured routing {name!r}; there are {', '.join(known)}")
    return read_routing(folder / f"{name}.npz", experts, experts_per_token)


@workload
def sampled_routing(
    tokens: int, experts: int, experts_per_token: int, *, skew: float = 0.0, seed: int = 0
) -> np.ndarray:
    """Every token draws different experts one after the other, with probabilities of a Zipf distribution.

    The expert of rank r, 1 to ``experts``, has a probability in proportion to r to the power of ``-skew``: 0 is
    uniform. Which expert has which rank is drawn from ``seed``, too. Raises `InputError` for what can not be drawn.
    """
    require(1 <= experts <= MOST, f"a routing must have 1 to {MOST:,} experts, not {experts:,}")
    if not 1 <= experts_per_token <= experts:
        raise InputError(f"experts_per_token must be 1 to {experts}, the number of experts, not {experts_per_token}")
    require(1 <= tokens <= MOST, f"a routing must have 1 to {MOST:,} tokens, not {tokens:,}")
    require(0 <= skew < np.inf, f"the skew of a routing must be a finite number >= 0, not {skew}")
    settled(seed, Annotated[int, Within(0)], "the seed of a sample", InputError)
    random = np.random.default_rng(seed)
    logarithms = -skew * np.log(random.permutation(experts) + 1.0)
    # The largest of the logarithms with Gumbel noise is drawn in proportion to the probabilities, the next one of what
    # is left, and so on.
    noisy = logarithms + random.gumbel(size=(tokens, experts))
    return np.argsort(-noisy, axis=1)[:, :experts_per_token]


@workload
def layer_routings(model: Configuration, tokens: int, *, skew: float = 0.0, seed: int = 0) -> list[np.ndarray]:
    """A routing for every layer of ``model``: the measured one where there is one, else `sampled_routing`.

    The sample of a layer has the seed ``seed`` plus its number.
    """
    measured_layer, trace = LAYERS.get((model.name, tokens), (None, ""))
    return [
        measured_routing(trace, model.experts, model.experts_per_token)
        if layer == measured_layer
        else sampled_routing(tokens, model.experts, model.experts_per_token, skew=skew, seed=seed + layer)
        for layer in range(model.layers)
    ]
