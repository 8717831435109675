"""Parameters of the fabric as people write them: ``tile=8``, ``memory=hbm2``, ``memory.channels=4``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from step.errors import FabricError
from step.host.nearest import did_you_mean
from step.lowering.dram import preset
from step.lowering.fabric import FabricConfig


def with_settings(fabric: FabricConfig, settings: Iterable[str]) -> FabricConfig:
    """``fabric`` with some parameters replaced; raises `FabricError` for unknown names and bad values."""
    data = fabric.to_json()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise FabricError(f"a fabric parameter must be NAME=VALUE, not {setting!r}")
        if name == "memory":
            data["memory"] |= asdict(preset(text))
            continue
        *groups, leaf = name.split(".")
        target: Any = data
        for group in groups:
            target = target.get(group) if isinstance(target, dict) else None
        if not isinstance(target, dict) or target.get(leaf) is None or isinstance(target[leaf], dict):
            known = [*_names(data), "memory"]
            raise FabricError(f"fabric has no parameter {name!r}; {did_you_mean(name, known)}it has {', '.join(known)}")
        target[leaf] = int(text) if re.fullmatch(r"-?[0-9]{1,30}", text) else text
    return FabricConfig.from_json(data)


def _names(data: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The parameters that there are; those of a group come behind the others."""
    yield from (f"{prefix}{key}" for key, value in data.items() if not isinstance(value, dict) and value is not None)
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{key}.")
