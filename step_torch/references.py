"""Results of torch for arguments: the module as it was given, in BF16 and in float64, and whether marks change it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from step.errors import InputError
from step_torch.lacking import configs_of
from step_torch.marks import Marks
from step_torch.quantized import QuantizedLinear, unrounded
from step_torch.routed import QuantizedExperts

SAME = 1e-4
"""By how much of the largest number results with marks may be off from those without, all in float64: what a module
computes in float32 even so is off by less, and another function by more."""

Given = Sequence[tuple[Tensor, ...]]


def references(module: nn.Module, given: Given, marks: Marks) -> list[dict[str, list[Tensor]]]:
    """Arguments, and the results of ``module`` in BF16 and in float64, for all that is ``given``.

    Raises `InputError` where it has something that ``marks`` do not take, or where they make something else of it.
    """
    plain, exact = [results_of(module(*each)) for each in given], in_float64(module)
    doubled = [tuple(x.double() if x.is_floating_point() else x for x in each) for each in given]
    marked: list[list[Tensor]] = [[] for _ in given]
    if configs_of(exact):
        with marks.within(exact), unrounded():
            marked = [_exactly(exact, each) for each in doubled]
    found = list[dict[str, list[Tensor]]]()
    for args, twice, bf16, mine in zip(given, doubled, plain, marked, strict=True):
        results = _exactly(exact, twice)
        with unrounded():
            rounds = any(isinstance(each, QuantizedLinear | QuantizedExperts) for each in exact.modules())
            for number, off in enumerate(map(_off, mine, _exactly(exact, twice) if mine and rounds else results)):
                if not (worst := float(off.max())) <= SAME:
                    place = [int(each) for each in np.unravel_index(int(off.argmax()), off.shape)]
                    raise InputError(
                        "marks for attention and experts make something else of the module: in float64 output "
                        f"{number} is off by {worst:.2%} of its largest number, at {place}"
                        f"{_first(exact, twice, marks)}"
                    )
        found.append({"input": list(args), "bf16": bf16, "float64": results})
    return found


def in_float64(module: nn.Module) -> Any:
    """A copy of ``module`` in float64."""
    exact = copy.deepcopy(module).double()
    for config in configs_of(exact):
        config._experts_implementation = "eager"  # that of their own class, as faster ones have no float64
    return exact


def _exactly(exact: nn.Module, args: tuple[Tensor, ...]) -> list[Tensor]:
    """The results of the module in float64, in which it makes its own numbers, too."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return results_of(exact(*args))
    except RuntimeError as error:
        raise InputError(
            f"the module does not run in float64, which results are compared with: {str(error).splitlines()[0]}; where "
            "it casts, let that be to the format of a parameter, as x.to(weight.dtype)"
        ) from None
    finally:
        torch.set_default_dtype(default)


def results_of(result: Any) -> list[Any]:
    """Results of a module, one or several; those of a whole module are tensors, as `check_call` has seen."""
    return list(result) if isinstance(result, tuple | list) else [result]


def _off(mine: Tensor, exact: Tensor) -> Tensor:
    """The error of numbers, relative to the largest one."""
    off = (mine.double() - exact.double()).abs()
    return off / exact.double().abs().max().clamp_min(torch.finfo(torch.float64).tiny)


def _first(exact: nn.Module, args: tuple[Tensor, ...], marks: Marks) -> str:
    """The first module with a mark whose result is another one."""
    with _told(exact, marks) as without:
        exact(*args)
    with _told(exact, marks) as mine, marks.within(exact):
        exact(*args)
    different = (path for path, one in mine.items() if not _off(one, without[path]).max() <= SAME)
    return f", first behind {path!r}" if (path := next(different, None)) is not None else ""


@contextmanager
def _told(module: nn.Module, marks: Marks) -> Iterator[dict[str, Tensor]]:
    """The first result of each module with a mark, by its path, as it is run meanwhile."""
    results = dict[str, Tensor]()

    def keep(path: str, _module: nn.Module, _args: Any, result: Any) -> None:
        results[path] = results_of(result)[0]

    with ExitStack() as hooks:
        for path in marks.made:
            hooks.enter_context(module.get_submodule(path).register_forward_hook(partial(keep, path)))
        yield results
