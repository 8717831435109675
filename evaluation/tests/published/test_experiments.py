"""The command that runs figures: it resumes, does not mix, and says what is wrong."""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from filelock import FileLock
from raising import raising

from experiments import rows
from experiments.__main__ import main
from experiments.files import FILES
from experiments.published import rows as published
from experiments.published.point import PublishedPoint
from experiments.published.points import FIGURES, SHOWN
from step.errors import Defect, FormatError, InputError, SimulationError

ONE = ["published_fig8", "--only", "64x128", "--jobs", "1", "--results"]


def refusal(kind: type[Exception], arguments: list[str]) -> str:
    """The text of the error that ends the command."""
    done = CliRunner().invoke(main, arguments)
    assert isinstance(done.exception, kind)
    return str(done.exception)


def test_a_figure_is_run_once_and_results_of_other_sources_are_refused(tmp_path: Path) -> None:
    arguments = [*ONE, str(tmp_path)]
    done = CliRunner().invoke(main, arguments)
    line = "| 64x128 | 9,260 | | | 1,900,544 = | 425,984 |"
    assert "[1/1] figure 8, 64x128: 9,260 cycles" in done.output and line in done.output
    again = CliRunner().invoke(main, arguments)
    assert "figure 8, 64x128:" not in again.output and line in again.output
    path = tmp_path / "published_fig8.csv"
    path.write_text(path.read_text().replace(published.sources("8"), "other"))
    text = f"{path} has results of other sources; remove it, give another --results, or run it --anew"
    assert refusal(InputError, arguments) == text
    assert "[1/1] figure 8, 64x128: 9,260 cycles" in CliRunner().invoke(main, [*arguments, "--anew"]).output


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "published_fig8.csv"
    path.write_text("point,cycles\n64x128,9260\n")
    text = f"{path} is no file of results of this version; remove it, or give another --results"
    assert refusal(FormatError, [*ONE, str(tmp_path)]) == text


def test_two_runs_do_not_write_the_same_results(tmp_path: Path) -> None:
    with FileLock(tmp_path / ".lock"):
        text = f"another run writes to {tmp_path}; wait for it, or give another --results"
        assert refusal(InputError, [*ONE, str(tmp_path)]) == text
    assert not (tmp_path / "published_fig8.csv").exists()


def test_results_that_can_not_be_kept_are_told_before_the_first_point(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    results = tmp_path / "file" / "results"
    assert refusal(InputError, [*ONE, str(results)]) == f"{results} can not be written: Not a directory"


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(rows, "write_atomically", full)
    text = f"{tmp_path / 'published_fig8.csv'} can not be written: No space left on device"
    assert refusal(InputError, [*ONE, str(tmp_path)]) == text


def test_a_figure_that_there_is_not() -> None:
    also = [f"{prefix}_fig{figure}" for prefix in ("published", "fabric") for figure in SHOWN]
    known = ", ".join(sorted([*FILES, "fabric_explained", *also]))
    text = f"there is no result file 'fabric_figg'; did you mean 'fabric_fig9'? there are {known}"
    assert refusal(InputError, ["published_fig8", "fabric_figg"]) == text


def killed(point: PublishedPoint) -> dict[str, object]:
    """Kills its process, whenever it is tried."""
    if point.name == "64x128":
        os.kill(os.getpid(), signal.SIGKILL)
    return published.measured(point)


@pytest.mark.slow
def test_a_point_whose_process_is_killed_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    told: list[str] = []
    campaign = replace(published.CAMPAIGN, measured=killed)
    tasks = [("8", "64x128"), ("8", "64x256")]
    assert campaign.run(tasks, tmp_path, 2, told.append) == ["figure 8, 64x128"]
    assert "figure 8, 64x128: its process was killed, alone too; is there enough memory?" in "\n".join(told)
    assert [row["point"] for row in campaign.read(tmp_path, "8")] == ["64x256"]


def test_a_point_that_fails_is_told_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "moved_bytes", lambda graph, result, loaded: 1)
    point = next(each for each in FIGURES["8"]() if each.name == "64x128")
    with raising(Defect, "64x128: the run moved 1 bytes off chip, but the metrics say 1,900,544"):
        published.measured(point)
    assert refusal(SimulationError, [*ONE, str(tmp_path)]) == "no result for figure 8, 64x128"


@pytest.mark.slow
def test_a_smoke_run_takes_a_few_points(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["--smoke", "--jobs", "1", "--results", str(tmp_path), "--plots", str(tmp_path)])
    assert done.exit_code == 0 and "| B=16 coarse | 43,789 | 43,789 | 1.0000 | 4,419,584 | 33,024 |" in done.output
    assert "figure 15 is not drawn: there is no figure 15, B=16 dynamic" in done.output
    drawn = {"published_fig8.svg", "published_fig15.svg"}
    found = {each.name for each in tmp_path.iterdir()} - {".lock"}
    assert {"published_fig8.csv", "published_fig15.csv"} <= found and drawn & found == {"published_fig8.svg"}


@pytest.mark.parametrize("figure", FIGURES)
def test_the_points_of_a_figure_have_names_of_their_own(figure: str) -> None:
    names = [each.name for each in FIGURES[figure]()]
    assert len(set(names)) == len(names)


def test_what_many_rows_were_made_with_is_kept_once(tmp_path: Path) -> None:
    path, settings = tmp_path / "a.csv", tmp_path / rows.SETTINGS
    kept = [{"point": str(at), "fabric": '{"tile": 4}'} for at in range(2)]
    rows.write(path, ("point", "fabric"), kept)
    rows.write(tmp_path / "b.csv", ("point", "profile"), [{"point": "0", "profile": '{"depth": 1}'}])
    assert rows.read(path, ("point", "fabric")) == kept
    assert settings.read_text().count("tile") == settings.read_text().count("depth") == 1
    settings.unlink()
    (name,) = {line.partition(",")[2] for line in path.read_text().splitlines()[1:]}
    with raising(FormatError, f"{path} has the fabric {name}, which {settings} has not"):
        rows.read(path)
