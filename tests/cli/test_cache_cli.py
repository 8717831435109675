"""``step cache``: size, list and clean."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from cases import cases
from commanding import Step
from filelock import FileLock

NAMES = [f"{kind}-{number:032x}" for number, kind in enumerate(("simulator", "simulator", "runtime"))]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of three entries, used now, and two and ten days ago."""
    monkeypatch.setenv("STEP_CACHE", str(tmp_path))
    for name, size, days in zip(NAMES, (1000, 3000, 500), (0, 2, 10), strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"x" * size)
        used = time.time() - days * 24 * 3600
        os.utime(tmp_path / name, (used, used))
    return tmp_path


def test_size(step: Step, root: Path) -> None:
    assert step("cache").ok().splitlines() == [
        f"{root}: 4.5 KB of 10.0 GB",
        "kind       entries    size  last used",
        "simulator        2  4.0 KB        now",
        "runtime          1   500 B   10 d ago",
    ]
    data = json.loads(step("cache", "--json").out)
    assert (data["bytes"], data["limit_bytes"], data["kinds"]["runtime"]) == (
        4500, 10**10, {"entries": 1, "bytes": 500},
    )  # fmt: skip


def test_list(step: Step, root: Path) -> None:
    rows = [line.split() for line in step("cache", "list").out.splitlines()[2:]]
    assert rows == [
        [NAMES[0], "1.0", "KB", "now"],
        [NAMES[1], "3.0", "KB", "2", "d", "ago"],
        [NAMES[2], "500", "B", "10", "d", "ago"],
    ]
    assert [each["bytes"] for each in json.loads(step("cache", "list", "--json").out)] == [1000, 3000, 500]


@cases(
    (("--all",), "3 entries removed, 4.5 KB", "0 left, 0 B"),
    (("--older-than", "5"), "1 entries removed, 500 B", "2 left, 4.0 KB"),
    (("--down-to", "2KB"), "2 entries removed, 3.5 KB", "1 left, 1.0 KB"),
)
def test_clean(options: tuple[str, ...], removed: str, left: str, step: Step, root: Path) -> None:
    assert step("cache", "clean", *options) == (0, f"ok: {removed}; {left}\n", "")


def test_what_is_being_made_stays(step: Step, root: Path) -> None:
    with FileLock(root / f"{NAMES[1]}.lock"):
        code, out, err = step("cache", "clean", "--all")
    assert (code, out) == (0, "ok: 2 entries removed, 1.5 KB; 1 left, 3.0 KB\n")
    assert err == "warning: 1 entries stay: they are being made, or are not yours to remove\n"


@cases(
    ((), "`step cache clean` needs one of --all, --older-than DAYS and --down-to SIZE"),
    (("--all", "--older-than", "0"), "`step cache clean` needs one of --all, --older-than DAYS and --down-to SIZE"),
    (("--down-to", "big"), "a size must be a number of bytes, KB, MB, GB or TB, such as 500 MB, not 'big'"),
)
def test_cleaning_that_makes_no_sense(options: tuple[str, ...], message: str, step: Step, root: Path) -> None:
    assert step("cache", "clean", *options) == (1, "", f"error: {message}\n")
