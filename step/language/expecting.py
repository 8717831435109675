"""Demands that several operators make of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from step.errors import TypeMismatch
from step.language.operator import StreamType, expect
from step.language.types import Buffer, ElementType, Selector, Tile, Tuple

Wanted = TypeVar("Wanted", Tile, Selector, Buffer, Tuple)


def only(inputs: Sequence[StreamType], taker: str) -> StreamType:
    """The one stream among ``inputs``; ``taker`` begins to say what takes just one."""
    expect(len(inputs) == 1, f"{taker} one stream, not {len(inputs)}")
    return inputs[0]


def expect_element(element: ElementType, kind: type[Wanted], wants: str) -> Wanted:
    """``element`` of the ``kind`` that ``wants`` says; raises `TypeMismatch` for others."""
    if not isinstance(element, kind):
        raise TypeMismatch(f"{wants}, not {element}")
    return element


def expect_selectors(stream: StreamType, place: str, targets: int, outlets: str) -> None:
    """Raise `TypeMismatch` unless the stream at ``place`` has selectors over the ``targets`` that ``outlets`` says."""
    expect_element(stream.element, Selector, f"the {place} stream must carry selectors")
    wanted = Selector(targets)
    expect(stream.element == wanted, f"{targets} {outlets} need {wanted}, not {stream.element}")
