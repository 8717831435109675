"""Functions of torch as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn


class Called(nn.Module):
    """``function`` of ``parts`` and of what comes."""

    def __init__(self, function: Callable[..., Any], *parts: nn.Module) -> None:
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, *given: Tensor) -> Any:
        return self.function(*self.parts, *given)
