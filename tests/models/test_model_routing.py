"""Routings: the measured ones, samples with the statistics that they state, and bad ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised

from step.errors import FormatError, InputError
from step_models import check_routing, measured_routing, read_routing, sampled_routing


@cases(
    ("mixtral_b64", 8, (64, 2), [13, 10, 17, 14, 17, 10, 24, 23]),
    ("mixtral_b1024", 8, (1024, 2), [236, 219, 279, 215, 164, 414, 301, 220]),
)
def test_mixtral(name: str, experts: int, shape: tuple[int, int], counts: list[int]) -> None:
    routing = measured_routing(name, experts, 2)
    assert routing.shape == shape and np.bincount(routing.reshape(-1), minlength=experts).tolist() == counts


@pytest.mark.parametrize(("name", "tokens", "used", "most"), [("qwen_b64", 64, 60, 42), ("qwen_b1024", 1024, 83, 814)])
def test_qwen(name: str, tokens: int, used: int, most: int) -> None:
    routing = measured_routing(name, 128, 8)
    counts = np.bincount(routing.reshape(-1), minlength=128)
    assert routing.shape == (tokens, 8) and (counts > 0).sum() == used and counts.max() == most


def test_a_routing_that_was_not_measured() -> None:
    error = raised(InputError, lambda: measured_routing("qwen_b32", 128))
    assert error == (
        "there is no measured routing 'qwen_b32'; there are mixtral_b1024, mixtral_b64, qwen_b1024, qwen_b64"
    )


def test_the_trace_of_another_model() -> None:
    with pytest.raises(FormatError, match=r"mixtral_b64.npz: 'data' must have 8 experts a token, not 2$"):
        measured_routing("mixtral_b64", 128, 8)
    with pytest.raises(FormatError, match=r"qwen_b64.npz: 'data': expert ids must be 0 to 7, but go from 0 to 12\d$"):
        measured_routing("qwen_b64", 8)


def test_a_sample_is_a_routing_and_depends_on_its_seed() -> None:
    first, again, other = (sampled_routing(50, 16, 4, skew=1, seed=seed) for seed in (1, 1, 2))
    check_routing(first, 16, 4)
    assert (first == again).all() and (first != other).any()
    assert (sampled_routing(50, 16, 4) == sampled_routing(50, 16, 4, skew=0.0, seed=0)).all()


@pytest.mark.parametrize("skew", [0.0, 1.0, 2.0])
def test_the_statistics_of_a_sample(skew: float) -> None:
    """With one expert a token, the shares are those of the Zipf distribution; 4 deviations of each are allowed."""
    tokens, experts = 20000, 8
    counts = np.sort(np.bincount(sampled_routing(tokens, experts, 1, skew=skew).reshape(-1), minlength=experts))[::-1]
    shares = np.arange(1, experts + 1.0) ** -skew
    shares /= shares.sum()
    assert (np.abs(counts / tokens - shares) < 4 * np.sqrt(shares / tokens)).all()


@cases(
    ((4, 8, 9), {}, "experts_per_token must be 1 to 8, the number of experts, not 9"),
    ((4, 8, 0), {}, "experts_per_token must be 1 to 8, the number of experts, not 0"),
    ((4, 0, 1), {}, "a routing must have 1 to 1,048,576 experts, not 0"),
    ((0, 8, 2), {}, "a routing must have 1 to 1,048,576 tokens, not 0"),
    ((4, 8, 2), {"skew": -0.5}, "the skew of a routing must be a finite number >= 0, not -0.5"),
    ((4, 8, 2), {"skew": np.nan}, "the skew of a routing must be a finite number >= 0, not nan"),
    ((4, 8, 2), {"skew": np.inf}, "the skew of a routing must be a finite number >= 0, not inf"),
    ((4, 8, 2), {"seed": -1}, "the seed of a sample must be an integer >= 0, not -1"),
    ((4, 8, 2), {"seed": 1.5}, "sampled_routing needs seed to be an integer, not 1.5"),
)
def test_samples_that_can_not_be(arguments: tuple[int, int, int], changes: dict[str, Any], message: str) -> None:
    assert raised(InputError, lambda: sampled_routing(*arguments, **changes)) == message


@cases(
    ({"ids": np.zeros((4, 2), int)}, "{path} must have an array 'data', not ids"),
    ({}, "{path} must have an array 'data', not nothing"),
    ({"data": np.zeros(4, int)}, "{path}: 'data' must be integers [tokens, k], not int64 [4]"),
    ({"data": np.zeros((4, 2))}, "{path}: 'data' must be integers [tokens, k], not float64 [4, 2]"),
    ({"data": np.zeros((0, 2), int)}, "{path}: 'data' must have at least one token, not [0, 2]"),
    ({"data": np.zeros((4, 0), int)}, "{path}: 'data' must have 1 to 8 experts a token, not 0"),
    ({"data": np.zeros((4, 9), int)}, "{path}: 'data' must have 1 to 8 experts a token, not 9"),
    ({"data": np.array([[0, 8]])}, "{path}: 'data': expert ids must be 0 to 7, but go from 0 to 8"),
    ({"data": np.array([[-1, 2]])}, "{path}: 'data': expert ids must be 0 to 7, but go from -1 to 2"),
    ({"data": np.array([[1, 2, 3], [5, 4, 5]])},
     "{path}: 'data': the experts of a token must differ, but token 1 has 5 twice"),
)  # fmt: skip
def test_traces_of_another_form(arrays: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.npz"
    np.savez(path, **arrays)
    assert raised(FormatError, lambda: read_routing(path, 8)) == message.format(path=path)


@cases(
    (None, "there is no file '{path}'"),
    (b"not an archive", "{path} is no .npz file; np.savez('{path}', NAME=array) writes one"),
    (b"", "{path} is damaged: it is no whole .npz file"),
    (b"PK\x03\x04", "{path} is damaged: it is no whole .npz file"),
)
def test_a_trace_that_can_not_be_read(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.npz"
    if content is not None:
        path.write_bytes(content)
    for name in (path, str(path)):
        assert raised(FormatError, read_routing, name, 8) == message.format(path=path)
