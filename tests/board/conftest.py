"""The folder of a small board, and the package ``host`` in it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cosim.board.folder import Folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Folder, ModuleType]:
    from board_hosts import written  # which needs PeakRDL
    from board_programs import moved

    return written(moved(), tmp_path_factory.mktemp("board"))


@pytest.fixture(scope="module")
def directory(small: tuple[Path, Folder, ModuleType]) -> Path:
    return small[0]


@pytest.fixture(scope="module")
def folder(small: tuple[Path, Folder, ModuleType]) -> Folder:
    return small[1]


@pytest.fixture(scope="module")
def host(small: tuple[Path, Folder, ModuleType]) -> ModuleType:
    return small[2]
