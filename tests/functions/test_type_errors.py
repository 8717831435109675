"""Errors of types: what every function says of operands and parameters that it can not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from raising import raising

from step import functions
from step.errors import TypeMismatch
from step.language.dims import DimKind, shape, symbol
from step.language.dtypes import DTYPES
from step.language.types import Selector, Tile

LINES = Path(__file__).with_name("type_errors.txt").read_text().splitlines()
"""A function and its operands, and below that what is said of them."""
NAMES: dict[str, Any] = {
    **vars(functions),
    **DTYPES,
    "Tile": Tile,
    "Selector": Selector,
    "INF": float("inf"),
    "ROWS": symbol("R"),
    "RAGGED": symbol("R", DimKind.RAGGED),
    "COLUMNS": symbol("C", DimKind.RAGGED),
}


@pytest.mark.parametrize(("case", "text"), [*zip(LINES[::2], LINES[1::2], strict=True)])
def test_text(case: str, text: str) -> None:
    written, _, operands = case.removeprefix("reduction ").partition(" of")
    function, inputs = eval(written, NAMES), eval(f"[{operands}]", NAMES)
    with raising(TypeMismatch, text.strip()):
        function.state_type(shape([2]), *inputs) if case.startswith("reduction ") else function.result_type(*inputs)
