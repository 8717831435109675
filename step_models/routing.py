"""Routings of tokens to experts: measured traces, and samples of stated statistics.

A routing is an array of integers [tokens, experts per token], the ids of different experts in each row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from step.errors import FormatError, InputError, expect
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
    """Routing of tokens to experts itself, where it is one.

    ``routing``: integers ``[tokens, experts per token]``, the ids of different experts in each row.
    ``experts``: ids are below this.
    ``experts_per_token``: columns that it has to have; None: any number.
    ``name``: what an error calls the routing.

    Raises `InputError` for anything else.

    >>> step_models.check_routing(np.array([[0, 2], [1, 3]]), experts=4).shape
    (2, 2)
    """
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
    """Routing of tokens to experts from a file, as `check_routing` describes it.

    ``path``: an .npz file with an array ``data``.
    ``experts``: ids are below this.
    ``experts_per_token``: columns that it has to have; None: any number.

    Raises `FormatError` for a file of another form.

    >>> step_models.read_routing("step_models/data/expert_routing/mixtral_b64.npz", experts=8).shape
    (64, 2)
    """
    arrays = read_arrays(path)
    expect("data" in arrays, f"{path} must have an array 'data', not {', '.join(arrays) or 'nothing'}", FormatError)
    try:
        return check_routing(arrays["data"], experts, experts_per_token, name=f"{path}: 'data'")
    except InputError as error:
        raise FormatError(str(error)) from None


@workload
def measured_routing(name: str, experts: int, experts_per_token: int | None = None) -> np.ndarray:
    """Routing of a measured trace that comes with the package: integers ``[tokens, experts per token]``.

    ``name``: ``mixtral_b64``, ``mixtral_b1024``, ``qwen_b64`` or ``qwen_b1024``.
    ``experts``: experts of the model.
    ``experts_per_token``: columns that it has to have; None: any number.

    Raises `InputError` for another name.

    >>> step_models.measured_routing("qwen_b64", experts=128).shape
    (64, 8)
    """
    folder = DATA / "expert_routing"
    known = sorted(each.stem for each in folder.glob("*.npz"))
    require(name in known, f"there is no measured routing {name!r}; there are {', '.join(known)}")
    return read_routing(folder / f"{name}.npz", experts, experts_per_token)


@workload
def sampled_routing(
    tokens: int, experts: int, experts_per_token: int, *, skew: float = 0.0, seed: int = 0
) -> np.ndarray:
    """Routing in which every token draws different experts one after the other: integers ``[tokens,
    experts_per_token]``.

    ``tokens``: rows.
    ``experts``: experts to draw from. The one of rank r, 1 to ``experts``, has a probability in proportion to r to the
    power of ``-skew``; which expert has which rank is drawn, too.
    ``experts_per_token``: columns.
    ``skew``: >= 0; 0 is uniform.
    ``seed``: of the random numbers.

    Raises `InputError` for what can not be drawn.

    >>> step_models.sampled_routing(tokens=100, experts=8, experts_per_token=2, skew=1.0).shape
    (100, 2)
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
    """Routings of all layers of a model: the measured one where there is one, else a sample.

    ``model``: its `Configuration`.
    ``tokens``: rows of each routing.
    ``skew``: of samples (`sampled_routing`).
    ``seed``: of samples; that of a layer has this plus its number.

    Raises what `sampled_routing` raises.

    >>> routings = step_models.layer_routings(step_models.configuration("Mixtral-8x7B"), tokens=64)
    >>> len(routings), routings[0].shape
    (32, (64, 2))
    """
    measured_layer, trace = LAYERS.get((model.name, tokens), (None, ""))
    return [
        measured_routing(trace, model.experts, model.experts_per_token)
        if layer == measured_layer
        else sampled_routing(tokens, model.experts, model.experts_per_token, skew=skew, seed=seed + layer)
        for layer in range(model.layers)
    ]
