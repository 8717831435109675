"""Units against their operators' meanings, with any arguments and any streams: see `contract`."""

from __future__ import annotations

import pytest
from contract.programs import OPERATORS, drawn
from test_units import PRESSURE, check


@pytest.mark.parametrize("how", PRESSURE)
@pytest.mark.parametrize("operator", OPERATORS)
def test_rtl_means_what_the_operator_means(operator: str, how: str) -> None:
    check(drawn(operator, list(PRESSURE).index(how)), how)
