"""Errors by their whole text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def raised(kind: type[BaseException], make: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """Text of the error of ``kind`` that ``make`` raises, called with ``arguments``."""
    with pytest.raises(kind) as error:
        make(*arguments, **named)
    return str(error.value)


@contextmanager
def raising(error: type[BaseException], text: str) -> Iterator[None]:
    """The block raises ``error``, with exactly this ``text``."""
    with pytest.raises(error) as caught:
        yield
    assert str(caught.value) == text
