"""One build for all tests of registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from registered import Registered


@pytest.fixture(scope="session")
def board(tmp_path_factory: pytest.TempPathFactory) -> Registered:
    from registered import kept_board  # which needs PeakRDL

    return kept_board(tmp_path_factory.mktemp("board"), "verilator")
