"""The benchmark beside DAM, without DAM: what it gives to the peer, and what it makes of its answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import dam_speed
from benchmarks.approx_speed import anywhere, selector

PEER = """\
#!/usr/bin/env python3
import sys
name, count = sys.argv[1], int(sys.argv[2])
assert len(open(sys.argv[3]).read().split()) >= count
print(7 * sum(range(count * 100)) // (count * 100))
"""


def test_targets_are_those_of_the_selectors() -> None:
    assert dam_speed.targets(5, selector) == [0, 1, 4, 9, 0]
    found = dam_speed.targets(100, anywhere)
    assert [1 << each for each in found] == [anywhere(number, 16) for number in range(100)]


def test_a_folder_without_dam_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as refused:
        dam_speed.built(tmp_path, tmp_path)
    message = f"error: CHECKOUT must be a clone of DAM-RS, whose Cargo.toml has the package dam, not {tmp_path}"
    assert str(refused.value) == message


def test_a_row_has_both_speeds(tmp_path: Path) -> None:
    """Cargo's folder is beside the targets, as where the peer is built."""
    (tmp_path / "target").mkdir()
    peer = tmp_path / "peer"
    peer.write_text(PEER)
    peer.chmod(0o755)
    cells = dam_speed.row(peer, tmp_path / "targets", dam_speed.experts, anywhere, 50, 2).split(" | ")
    assert cells[0] == "experts random" and cells[1] == "17,496" and len(cells) == 6
    assert all(" to " in each for each in cells[3:])
