"""The published JSON schemas, and checking data against them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from step.errors import FormatError


def schema_names() -> list[str]:
    """Names of all published schemas."""
    found = (each.name for each in files("step.programs.schemas").iterdir())
    return sorted(name.removesuffix(".json") for name in found if name.endswith(".json"))


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema called ``name``; raises `FormatError` for other names."""
    if name not in schema_names():
        raise FormatError(f"schema must be one of {', '.join(schema_names())}, not {name!r}")
    loaded: dict[str, Any] = json.loads((files("step.programs.schemas") / f"{name}.json").read_text())
    return loaded


def validate(data: Any, name: str, where: str) -> None:
    """Raise `FormatError` with the place of the first problem unless ``data`` fits the schema ``name``.

    ``where`` is the file that the data is from.
    """
    import jsonschema  # which takes a while, and few commands need

    problem = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema(name)).iter_errors(data))
    if problem is not None:
        raise FormatError(f"{where}: {problem.json_path}: {problem.message}")
