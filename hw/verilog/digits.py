"""Numbers of any length as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def any_length() -> Iterator[None]:
    """Numbers may have as many digits as they like: tables of constants are numbers of many thousands."""
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(most)
