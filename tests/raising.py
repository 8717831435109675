"""Errors by their text, in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def raised(kind: type[BaseException], make: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """Text of the error of ``kind`` that ``make`` raises, called with ``arguments``."""
    with pytest.raises(kind) as error:
        make(*arguments, **named)
    return str(error.value)
