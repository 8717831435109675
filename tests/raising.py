"""An error with all of its text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def raising(error: type[BaseException], text: str) -> Iterator[None]:
    """What is done meanwhile raises ``error``, with exactly this ``text``."""
    with pytest.raises(error) as caught:
        yield
    assert str(caught.value) == text
