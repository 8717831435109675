"""Configurations of models: those that come with the package, and files."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from cases import cases
from filing import filed
from raising import raised

from step.errors import FormatError, InputError
from step_models import configuration, read_configuration


@cases(
    ("Mixtral-8x7B", (32, 4096, 14336, 8, 2), (32, 8, 128, 4)),
    ("Qwen3-30B-A3B", (48, 2048, 768, 128, 8), (32, 4, 128, 8)),
)
def test_models_that_come_along(name: str, layers: tuple[int, ...], heads: tuple[int, ...]) -> None:
    found = configuration(name)
    assert (found.layers, found.hidden, found.inner, found.experts, found.experts_per_token) == layers
    assert (found.query_heads, found.key_value_heads, found.head_size, found.group) == heads


def test_another_one() -> None:
    error = raised(InputError, lambda: configuration("GPT-5"))
    assert error == "there is no configuration of a model 'GPT-5'; there are Mixtral-8x7B, Qwen3-30B-A3B"


@cases(
    ({"layers": 0}, "layers of model 'Mixtral-8x7B' must be an integer >= 1, not 0"),
    ({"hidden": 64.0}, "hidden of model 'Mixtral-8x7B' must be an integer >= 1, not 64.0"),
    ({"experts": 1}, "experts_per_token of model 'Mixtral-8x7B' must be at most its 1 experts, not 2"),
    ({"norm_epsilon": -1.0}, "norm_epsilon of model 'Mixtral-8x7B' must be a float >= 0, not -1.0"),
    ({"key_value_heads": 5}, "the 32 query heads of model 'Mixtral-8x7B' can not share 5 key-value heads evenly"),
)  # fmt: skip
def test_dimensions_that_no_model_has(change: dict[str, int], message: str) -> None:
    assert raised(InputError, lambda: replace(configuration("Mixtral-8x7B"), **change)) == message


def test_a_file(tmp_path: Path) -> None:
    small = replace(configuration("Qwen3-30B-A3B"), name="small", experts=16)
    assert read_configuration(filed(tmp_path / "small.json", json.dumps(asdict(small)))) == small


@cases(
    ([], "{path} must have an object with a model's dimensions, not []"),
    ({"name": "x", "heads": 3},
     "{path}: a configuration has no 'heads'; it has name, layers, hidden, inner, experts, experts_per_token, "
     "query_heads, key_value_heads, head_size, norm_epsilon"),
    ({"name": "x"}, "{path}: the configuration has no 'layers'"),
)  # fmt: skip
def test_files_of_another_form(data: object, message: str, tmp_path: Path) -> None:
    path = filed(tmp_path / "small.json", json.dumps(data))
    assert raised(FormatError, lambda: read_configuration(path)) == message.format(path=path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    error = raised(FormatError, lambda: read_configuration(tmp_path / "none.json"))
    assert error == f"there is no file '{tmp_path / 'none.json'}'"
    path = filed(tmp_path / "deep.json", "[" * 9999)
    error = raised(FormatError, lambda: read_configuration(path))
    assert error == f"{path} is no configuration of a model: its JSON is nested too deeply"
