"""The size of the cache, and what goes when it is too large."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from cases import cases
from filelock import FileLock

from step.errors import EnvironmentProblem, InputError
from step.host.builds import cached
from step.host.entries import down_to, entries, make_room, remove, size_text
from step.host.sizes import cache_limit, parse_size
from step.host.usage import DAY


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("STEP_CACHE", str(tmp_path))
    return tmp_path


def name(number: int, kind: str = "simulator") -> str:
    return f"{kind}-{number:032x}"


def add(root: Path, entry: str, size: int, days: float) -> Path:
    """An entry of ``size`` bytes that was used so long ago."""
    path = root / entry
    path.mkdir(parents=True)
    (path / "file").write_bytes(b"x" * size)
    used = time.time() - days * DAY
    os.utime(path, (used, used))
    return path


def left(root: Path) -> set[str]:
    return {each.path.name for each in entries(root)}


def test_what_was_not_used_for_longest_goes_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, days in enumerate((3, 9, 5, 2)):
        add(root, name(number), 100, days)
    monkeypatch.setenv("STEP_CACHE_LIMIT", "200")
    make_room(root)
    assert left(root) == {name(0), name(3)}


def test_what_was_used_within_a_day_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(root, name(0), 100, 0.9)
    add(root, name(1), 100, 1.1)
    monkeypatch.setenv("STEP_CACHE_LIMIT", "0")
    make_room(root)
    assert left(root) == {name(0)}


def test_a_new_entry_makes_room_and_an_old_one_is_young_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(root, name(0), 100, 3)
    add(root, name(1), 100, 5)
    monkeypatch.setenv("STEP_CACHE_LIMIT", "150")
    cached(name(1), lambda directory: None)  # used, so that it is not the oldest any more
    cached(name(2), lambda directory: None)
    assert left(root) == {name(1), name(2)}


def test_what_another_process_makes_or_takes_stays(root: Path) -> None:
    """Its lock is held."""
    add(root, name(0), 100, 3)
    add(root, f"{name(1)}.partial", 100, 3)
    chosen = entries(root)
    with FileLock(root / f"{name(0)}.lock"), FileLock(root / f"{name(1)}.lock"):
        assert remove(root, chosen) == []
    assert remove(root, chosen) == chosen and left(root) == set()


def test_an_entry_that_is_used_after_it_was_chosen_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process took it in the meantime."""
    path = add(root, name(0), 100, 3)
    chosen = down_to(root, 0)
    os.utime(path)
    assert remove(root, chosen, idle=DAY) == [] and left(root) == {name(0)}


def test_an_interrupted_removal_leaves_no_half_entry(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(root, name(0), 100, 3)

    def interrupted(path: Path, **options: bool) -> None:
        if path.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("shutil.rmtree", interrupted)
        remove(root, entries(root))
    assert [(each.path.name, each.unfinished) for each in entries(root)] == [(f"{name(0)}.partial", True)]


def test_what_killed_processes_left_goes_whatever_the_size(root: Path) -> None:
    add(root, f"{name(0)}.partial", 100, 2)
    add(root, f"{name(1)}.partial", 100, 0)
    make_room(root)
    assert left(root) == {f"{name(1)}.partial"}


def test_kinds_and_sizes(root: Path) -> None:
    add(root, name(0), 100, 3)
    add(root, name(1, "placement"), 20, 2)
    add(root, "verilog", 7, 1)
    (root / f"{name(2)}.log").write_text("no")
    (root / f"{name(2)}.lock").touch()
    (root / "README").write_text("not of the cache")
    assert {(each.kind, each.size) for each in entries(root)} == {
        ("simulator", 100), ("placement", 20), ("verilog", 7), ("failed builds", 2),
    }  # fmt: skip
    remove(root, entries(root))
    assert left(root) == set() and (root / "README").exists()


@cases(("0", 0), ("12", 12), ("3KB", 3000), ("2.5 gb", 2_500_000_000), ("1T", 10**12), ("7 B", 7))
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


def test_sizes_as_text() -> None:
    assert [size_text(each) for each in (0, 999, 1000, 2_460_000, 10**10)] == [
        "0 B", "999 B", "1.0 KB", "2.5 MB", "10.0 GB",
    ]  # fmt: skip


def test_a_limit_that_is_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError):
        parse_size("-3")
    monkeypatch.setenv("STEP_CACHE_LIMIT", "much")
    with pytest.raises(EnvironmentProblem) as error:
        cache_limit()
    assert str(error.value) == (
        "STEP_CACHE_LIMIT: a size must be a number of bytes, KB, MB, GB or TB, such as 500 MB, not 'much'"
    )
