"""Calls into a model of the user, all through here: what goes wrong in them is an `InputError` with module and line."""

from __future__ import annotations

import copy
import re
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from step.errors import InputError, StepError
from step_torch.lacking import HEAD, lacking, listed, unlike

SITE = re.compile(r".*/(?:site|dist)-packages/")

_PYTHON = sysconfig.get_path("stdlib")

OURS = str(Path(__file__).parent)


@contextmanager
def calling(model: Any, what: str, *, always: bool = False) -> Iterator[None]:
    """``model`` is called meanwhile; ``what`` says what is not possible if that raises anything.

    Raises `InputError` with the module in which it was raised, the exception, and what the model has that can not be
    captured; the exception itself is its cause. An error of our own is raised as it is, or, if it is ``always`` to be
    said, with what the model has.
    """
    try:
        yield
    except InputError as error:
        if not always or HEAD in str(error) or not (found := lacking(model)):
            raise
        raise InputError(f"{error}{listed(found)}") from error
    except StepError:
        raise
    except Exception as error:
        text = str(error).split("\n\nThe error above occurred")[0].strip()
        said = f"{type(error).__name__}: {text}" if text else type(error).__name__
        raise InputError(f"{what}: {_place(model, error)}{said}{listed([*unlike(model), *lacking(model)])}") from error


def _place(model: Any, error: Exception) -> str:
    """The innermost module of ``model`` that ``error`` went through, and the innermost line that is not of torch."""
    names = {id(each): path for path, each in model.named_modules()} if hasattr(model, "named_modules") else {}
    path, line = None, None
    for frame, number in traceback.walk_tb(error.__traceback__):
        path = names.get(id(frame.f_locals.get("self")), path)
        file = frame.f_code.co_filename
        name = SITE.sub("", file)
        ours = name.startswith("torch/") or file.startswith((OURS, "<"))
        if not ours and (name != file or not file.startswith(_PYTHON)):
            line = f"{name}:{number}"
    module = "" if path is None else f"in {path or 'the module itself'}, "
    return module if line is None else f"{module}at {line}, "


def check_arguments(given: Sequence[Sequence[Any]]) -> None:
    """Raises `InputError` for arguments that are no tensors with scalars, and samples of other shapes."""
    first = given[0]
    for number, args in enumerate(given):
        what = "args" if number == 0 else f"samples[{number - 1}]"
        if type(args).__name__ in ("Tensor", "Parameter"):
            raise InputError(f"{what} must be the arguments of the module, as (x,), not a tensor")
        for place, each in enumerate(args):
            if not hasattr(each, "is_floating_point"):
                raise InputError(
                    f"{what}[{place}] must be a tensor, not {_shown(each)}: give forward arguments that are tensors "
                    "alone, and let the module have the rest"
                )
            if 0 in each.shape:
                raise InputError(f"{what}[{place}] is a tensor {list(each.shape)}, which has no scalars")
        if [(each.shape, each.dtype) for each in args] != [(each.shape, each.dtype) for each in first]:
            raise InputError(f"{what} must have the shapes and formats of args, {_shapes(first)}, not {_shapes(args)}")


def check_plain(module: Any) -> None:
    """Raises `InputError` for a tensor of ``module`` that holds others, as torchao's quantised weights do."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    for name, each in chain(module.named_parameters(), module.named_buffers()):
        if is_traceable_wrapper_subclass(each):
            raise InputError(
                f"{name!r} is a tensor of the class {type(each).__name__}, and others are in it: let "
                "torchao.utils.unwrap_tensor_subclass(module) take them out, and quantize keeps their integers"
            )


def check_call(module: Any, args: Sequence[Any]) -> None:
    """Call a copy of ``module`` once; raises `InputError` where it fails, gives no tensors, or changes what it has."""
    with calling(module, "the module can not be copied"):
        tried, given = copy.deepcopy(module), [each.clone() for each in args]
    with calling(tried, "the module can not be called"):
        results = tried(*given)
    several = type(results) in (tuple, list)
    for place, each in enumerate(results if several else [results]):
        if not hasattr(each, "is_floating_point"):
            which = f"result {place}" if several else "the result"
            raise InputError(
                f"{which} of the module must be a tensor, not {_shown(each)}: let forward return a tensor, or a tuple "
                "of tensors"
            )
    before = {**dict(module.named_buffers()), **{f"args[{place}]": each for place, each in enumerate(args)}}
    after = {**dict(tried.named_buffers()), **{f"args[{place}]": each for place, each in enumerate(given)}}
    for name, each in before.items():
        new = after.get(name)
        if new is None or new.shape != each.shape or not bool((new == each).logical_or(each != each).all()):
            what = name if name.startswith("args[") else f"its buffer {name!r}"
            raise InputError(
                f"forward changes {what}, but a program keeps nothing: let it return what is new, and take it as an "
                "argument"
            )


def _shown(value: Any) -> str:
    kind = type(value).__name__
    return "None" if value is None else f"{kind} {value!r}" if isinstance(value, int | float | str) else f"a {kind}"


def _shapes(args: Sequence[Any]) -> str:
    return ", ".join(f"{str(each.dtype).removeprefix('torch.')}{list(each.shape)}" for each in args)
