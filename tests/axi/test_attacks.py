"""Resets of all kinds at random, with memory that goes on, on boards with two masters: the next run is right."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from attacked import BOARDS, attacked_board, attacks, check


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_runs_behind_random_resets_are_right(name: str, tmp_path: Path) -> None:
    board = attacked_board(name, tmp_path)
    for seed in range(3):
        check(board, attacks(board, seed, 20, 300), deaf=seed == 2)
