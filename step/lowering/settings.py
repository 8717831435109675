"""Settings of a fabric, as texts, of which one leaves nothing of another."""

from __future__ import annotations

from collections.abc import Iterable

from step.errors import InputError
from step.language.parameters import settled
from step.lowering.fabric import BANDWIDTH, FABRIC, MASTERS, MEMORY

CHANNELS = f"{MEMORY}.channels"

KEEP_BANDWIDTH = (MASTERS, f"{MEMORY}.latency", f"{MEMORY}.interleave")
"""Parameters of a memory that its bandwidth does not depend on."""


def check_settings(settings: Iterable[str]) -> None:
    """Raise `InputError` for a setting, ``NAME=VALUE`` or a name, of which a later one leaves nothing."""
    before = list[str]()
    for each in settings:
        settled(each, str, "a setting", InputError)
        for other in before:
            if told := _lost(other, each):
                raise InputError(told)
        before.append(each)


def in_effect(settings: Iterable[str], later: Iterable[str]) -> tuple[str, ...]:
    """The ``settings`` that no ``later`` one replaces."""
    later = tuple(later)
    return tuple(each for each in settings if not any(_lost(each, other) for other in later))


def _lost(before: str, later: str) -> str | None:
    """Error for ``before`` where ``later`` leaves nothing of it."""
    first, second = (each.partition("=")[0].removeprefix(FABRIC) for each in (before, later))
    if first == second or (first, second) == (CHANNELS, BANDWIDTH):
        return f"'{before}' and '{later}' set the same parameter of the fabric: leave one of them out"
    if second == MEMORY and first.startswith(f"{MEMORY}."):
        return f"'{later}' would replace '{before}', which stands before it: give {MEMORY} first"
    if first == BANDWIDTH and second.startswith(f"{MEMORY}.") and second not in KEEP_BANDWIDTH:
        return f"'{later}' would change what '{before}' before it says: give {BANDWIDTH} last, or leave one of them out"
    return None
