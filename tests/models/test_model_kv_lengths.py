"""Lengths of KV caches: the measured ones, samples with the statistics that they state, and bad ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cases import cases
from raising import raised

from step.errors import FormatError, InputError
from step_models import check_lengths, measured_kv_lengths, read_kv_lengths, sampled_kv_lengths
from step_models.configurations import DATA


def test_a_measured_batch() -> None:
    lengths = measured_kv_lengths("b64/conv_stdev0996_4007_4070")
    tiles = (lengths + 32) // 32
    assert (len(lengths), lengths.max(), tiles.sum()) == (64, 4088, 2147)


@pytest.mark.parametrize("path", sorted((DATA / "kv_lengths").glob("*/*.npy")), ids=lambda path: path.stem)
def test_every_measured_batch(path: Path) -> None:
    assert len(measured_kv_lengths(f"{path.parent.name}/{path.stem}")) == int(path.parent.name[1:])


def test_a_batch_that_was_not_measured() -> None:
    assert raised(InputError, lambda: measured_kv_lengths("b32")) == (
        "there are no measured KV lengths 'b32'; "
        "there are 51, from b16/conv_stdev0174_1845_1860 to b80/conv_stdev1413_0981_1060"
    )


def test_the_statistics_of_a_sample() -> None:
    """Within 4 deviations of the mean of so many; the deviation itself within a tenth."""
    lengths = sampled_kv_lengths(20000, mean=1000, deviation=500, seed=1)
    assert abs(lengths.mean() + 0.5 - 1000) < 4 * 500 / np.sqrt(20000)
    assert abs(lengths.std() / 500 - 1) < 0.1
    assert (lengths == sampled_kv_lengths(20000, mean=1000, deviation=500, seed=1)).all()
    assert (sampled_kv_lengths(5, mean=10, deviation=0) == 10).all()
    assert (sampled_kv_lengths(5) == sampled_kv_lengths(5, mean=1024, deviation=1024, seed=0)).all()


@cases(
    ({"requests": 0}, "0, 1024.0 and 1024.0"),
    ({"requests": 4, "mean": 0}, "4, 0 and 1024.0"),
    ({"requests": 4, "deviation": -1}, "4, 1024.0 and -1"),
    ({"requests": 4, "mean": np.nan}, "4, nan and 1024.0"),
    ({"requests": 4, "mean": np.inf}, "4, inf and 1024.0"),
    ({"requests": 4, "deviation": np.nan}, "4, 1024.0 and nan"),
)
def test_samples_that_can_not_be(sample: dict[str, float], found: str) -> None:
    error = raised(InputError, lambda: sampled_kv_lengths(**sample))
    assert error == (
        f"a sample of KV lengths needs at least one request, a mean above 0 and a deviation of at least 0, not {found}"
    )


def test_a_seed_that_can_not_be() -> None:
    error = raised(InputError, lambda: sampled_kv_lengths(4, seed=-1))
    assert error == "the seed of a sample must be an integer >= 0, not -1"


def test_a_length_beyond_the_cache() -> None:
    check_lengths(np.array([7, 0]), 8)
    error = raised(InputError, lambda: check_lengths(np.array([3, 8, 2]), 8))
    assert error == (
        "KV lengths must be below the 8 rows of the cache, which has to take the new row, too, but request 1 has 8"
    )


@cases(
    (np.zeros((4, 2), int), "must be integers [requests] for at least one request, not int64 [4, 2]"),
    (np.zeros(4), "must be integers [requests] for at least one request, not float64 [4]"),
    (np.zeros(0, int), "must be integers [requests] for at least one request, not int64 [0]"),
    (np.array([3, -1]), "must be at least 0, not -1"),
)
def test_lengths_of_another_form(array: np.ndarray, message: str, tmp_path: Path) -> None:
    path = tmp_path / "lengths.npy"
    np.save(path, array)
    assert raised(FormatError, lambda: read_kv_lengths(path)) == f"{path}: KV lengths {message}"


def test_lengths_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "lengths.npz"
    np.savez(path, data=np.array([3]))
    error = raised(FormatError, lambda: read_kv_lengths(path))
    assert error == f"{path} must be an .npy file, not an archive of arrays; np.save(path, array) writes one"


@cases(
    (None, "there is no file '{path}'"),
    (b"not an array", "{path} is no .npy file; np.save('{path}', array) writes one"),
    (b"", "{path} is damaged: it is no whole .npy file"),
    (b"\x93NUMPY", "{path} is damaged: it is no whole .npy file"),
)
def test_lengths_that_can_not_be_read(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "lengths.npy"
    if content is not None:
        path.write_bytes(content)
    for name in (path, str(path)):
        assert raised(FormatError, read_kv_lengths, name) == message.format(path=path)
