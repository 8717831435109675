"""Facts that follow from a netlist, found once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from step.lowering.netlist import Netlist

Found = TypeVar("Found")


def derived(derive: Callable[[Netlist], Found]) -> Callable[[Netlist], Found]:
    """``derive``, but once per netlist: what it finds stays with the netlist for whoever asks next."""

    @wraps(derive)
    def found(netlist: Netlist) -> Found:
        name = f"{derive.__module__}.{derive.__qualname__}"
        if name not in netlist.derived:
            netlist.derived[name] = derive(netlist)
        return netlist.derived[name]

    return found
