"""Folders that are written again: what was there before goes, what belongs to others stays."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from raising import raised

from step.errors import InputError
from step.host.installing import MANIFEST, installing


def write(directory: Path, **files: str) -> None:
    with installing(directory, last="index") as staged:
        for name, text in {"index": "i", **files}.items():
            path = staged / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)


def contents(directory: Path) -> dict[str, str]:
    found = {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}
    del found[MANIFEST]
    return found


def test_a_new_folder_with_its_manifest(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "out", a="1", data__b="2")
    out = tmp_path / "deep" / "out"
    assert contents(out) == {"index": "i", "a": "1", "data/b": "2"}
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in contents(out).items()}
    assert (out / MANIFEST).read_text() == "".join(f"{digests[name]}  {name}\n" for name in ("a", "data/b", "index"))
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_what_an_earlier_time_left_goes(tmp_path: Path) -> None:
    write(tmp_path, a="1", data__b="2", data__c="3")
    write(tmp_path, a="new", d="4")
    assert contents(tmp_path) == {"index": "i", "a": "new", "d": "4"}
    assert not (tmp_path / "data").exists()


def test_what_is_of_others_or_was_changed_stays(tmp_path: Path) -> None:
    write(tmp_path, a="1", b="2", data__c="3")
    (tmp_path / "mine").write_text("m")
    (tmp_path / "a").write_text("edited")
    (tmp_path / "data" / "mine").write_text("n")
    write(tmp_path)
    assert contents(tmp_path) == {"index": "i", "a": "edited", "mine": "m", "data/mine": "n"}
    write(tmp_path)
    assert (tmp_path / "a").read_text() == "edited"


@pytest.mark.parametrize("changed", ["a", "mine"])
def test_nothing_of_others_is_written_over(tmp_path: Path, changed: str) -> None:
    write(tmp_path, a="1")
    (tmp_path / changed).write_text("edited")
    before = contents(tmp_path)
    caught = raised(InputError, lambda: write(tmp_path, a="2", mine="3"))
    assert caught == f"{tmp_path / changed} was changed, or is of somebody else: move it away, or choose another folder"
    assert contents(tmp_path) == before
    (tmp_path / changed).write_text({"a": "2", "mine": "3"}[changed])
    write(tmp_path, a="2", mine="3")
    assert contents(tmp_path) == {"index": "i", "a": "2", "mine": "3"}


def test_a_manifest_of_files_elsewhere_is_not_believed(tmp_path: Path) -> None:
    """Whoever hands over a folder can not have files deleted that are not in it."""
    (tmp_path / "precious").write_text("p")
    digest = hashlib.sha256(b"p").hexdigest()
    out = tmp_path / "out"
    out.mkdir()
    (out / MANIFEST).write_text(f"{digest}  ../precious\n{digest}  {tmp_path}/precious\nnonsense\n")
    write(out)
    assert (tmp_path / "precious").read_text() == "p"


def test_an_exception_leaves_all_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "out", a="1")
    with pytest.raises(RuntimeError), installing(tmp_path / "out", last="index") as staged:
        (staged / "b").write_text("2")
        raise RuntimeError
    with pytest.raises(RuntimeError), installing(tmp_path / "new", last="index") as staged:
        raise RuntimeError
    assert contents(tmp_path / "out") == {"index": "i", "a": "1"}
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "index", MANIFEST, "out"]


def test_an_interruption_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was written until then is known, so the next time takes it away; the last file is not there."""
    write(tmp_path, a="1")
    replace = os.replace

    def interrupted(source: str | Path, target: str | Path) -> None:
        if Path(source).name == "c":
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("os.replace", interrupted)
        write(tmp_path, b="2", c="3")
    assert contents(tmp_path) == {"b": "2"}
    write(tmp_path, d="4")
    assert contents(tmp_path) == {"index": "i", "d": "4"}
