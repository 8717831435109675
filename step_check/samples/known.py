"""The operators and functions that there are, those of other packages too, with their samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from step.errors import RegistrationError
from step.host.extensions import modules_of
from step.language.function import FUNCTIONS, Function

WEIGHT = 3
"""Weight of an operator whose file has no ``WEIGHT`` of its own."""


@dataclass(frozen=True)
class SampledOperator:
    """The operator ``name``: ``sample`` adds it to a draft once, or not at all where nothing fits.

    The fuzzer takes it ``weight`` times as often as one of weight 1.
    """

    name: str
    sample: Callable[[Any], None]
    weight: int


def operators() -> list[SampledOperator]:
    """All operators by name; raises `RegistrationError` for one without a sample."""
    found = []
    for module in modules_of("step.ops"):
        name = module.__name__.rpartition(".")[2]
        sample = getattr(module, "sample", None)
        if sample is None:
            raise RegistrationError(
                f"the operator {name!r} has no sample: {module.__name__} needs a function sample(draft), which adds it "
                "to a step.language.draft.Draft once"
            )
        found.append(SampledOperator(name, sample, getattr(module, "WEIGHT", WEIGHT)))
    return found


def functions(kind: type[Any]) -> list[type[Function]]:
    """All functions of ``kind``, by their names."""
    modules = {each.__name__ for each in modules_of("step.functions")}
    return [each for _, each in sorted(FUNCTIONS.items()) if issubclass(each, kind) and each.__module__ in modules]
