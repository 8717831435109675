"""The first difference of a language model and its captured step: they share their parts, so these tell it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

Tried = Callable[[], Any]


def difference(parts: Mapping[str, Any], whole: Tried, step: Tried, off: Callable[[Any, Any], bool]) -> str:
    """The first thing that only ``whole`` does, by what goes into each of ``parts``, in order, as they are called.

    ``parts``: what is different where the input of a module is. ``off`` says whether two tensors are.
    """
    seen = list[dict[str, Any]]()

    def told(place: str) -> Any:
        def hook(_module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
            seen[-1].setdefault(place, args[0] if args else next(iter(named.values())))

        return hook

    with ExitStack() as hooks:
        for place, module in parts.items():
            hooks.enter_context(module.register_forward_pre_hook(told(place), with_kwargs=True))
        for call in (whole, step):
            seen.append({})
            call()
    one, other = seen
    return next((place for place in parts if place in one and place in other and off(other[place], one[place])), "")
