"""Units against their operators' meanings, with any arguments and any streams: see `around`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from around import OPERATORS, drawn
from test_units import PRESSURE, check


def cases() -> Iterator[Any]:
    """Every operator under every pressure; slow are all but both of its kinds at once, and another one in turn."""
    others = cycle(each for each in PRESSURE if each != "both")
    for operator in OPERATORS:
        some = {"both", next(others)}
        for how in PRESSURE:
            yield pytest.param(operator, how, marks=[] if how in some else [pytest.mark.slow])


@pytest.mark.parametrize(("operator", "how"), [*cases()])
def test_rtl_means_what_the_operator_means(operator: str, how: str) -> None:
    check(drawn(operator, list(PRESSURE).index(how)), how)
