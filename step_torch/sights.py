"""The rows that a mask of transformers lets one see."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Sight:
    """The rows that one sees: none behind it, where it is ``causal``, and of the others the last ``window``."""

    causal: bool
    window: int | None = None


def sight_of(function: Callable[..., Tensor], span: int) -> Sight | None:
    """The rows that ``function`` lets one see, which may change after ``span`` of them; None for anything else."""
    zero, query = torch.zeros((), dtype=torch.int64), torch.tensor([[0], [span - 1], [span], [2 * span + 1]])
    key = torch.arange(2 * span + 2)[None]
    seen = function(zero, zero, query, key).expand(len(query), key.shape[1])
    known = {
        Sight(False): torch.ones_like(seen),
        Sight(True): key <= query,
        Sight(True, span): (key <= query) & (key > query - span),
    }
    return next((sight for sight, each in known.items() if torch.equal(seen, each)), None)


def asks(module: nn.Module, config: Any) -> bool:
    """Whether the modules of ``config`` ask the registry of attention, and do not do that by themselves."""
    files = {type(each).__module__ for each in module.modules() if getattr(each, "config", None) is config}
    return any(hasattr(sys.modules[each], "ALL_ATTENTION_FUNCTIONS") for each in files)
