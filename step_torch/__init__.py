"""Modules of PyTorch as programs: `capture` writes a `.pt2` file with torch, `load` imports it without."""

from __future__ import annotations

from typing import Any

from step.errors import EnvironmentProblem
from step_torch.imported import Check as Check
from step_torch.imported import Imported as Imported
from step_torch.imported import load as load
from step_torch.joins import Join as Join
from step_torch.mapped import Mapped as Mapped
from step_torch.mapped import map as map
from step_torch.tiling import Tiling as Tiling

_OF_TORCH = ("Layers", "capture", "capture_decoding", "from_pretrained", "quantize", "tables")


def __getattr__(name: str) -> Any:
    """Names that need torch, imported when they are used; raises `EnvironmentProblem` where that is not installed."""
    if name not in _OF_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from step_torch import capturing, pretrained, quantized
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise EnvironmentProblem(
            f"step_torch.{name} needs torch, which is not installed: pip install 'step-fabric[torch]'"
        ) from None
    return getattr({"from_pretrained": pretrained, "quantize": quantized}.get(name, capturing), name)
