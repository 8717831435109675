"""``step calibrate``, and ``--calibration`` of `run` and `compare`; the fast model stands for RTL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commanding import Step, commanding
from model_as_rtl import model_as_rtl

from step.programs.files.json_file import validate
from step_check.calibration.campaign import Campaign

PROGRAM = """\
import numpy as np

from step import BF16, FabricConfig, Graph, Program, Tile
from step.functions import Add, Exp


def {name}():
    graph = Graph("{name}")
    x = graph.source("x", Tile(BF16, 2, 4), [3, 2])
    x.map(Exp(), name="exp").{more}sink("y")
    return Program(graph, {{"x": np.ones((3, 2, 2, 4))}}, FabricConfig(stages=3))
"""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the programs that ran instead of RTL."""
    return model_as_rtl(monkeypatch)


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: list[str]) -> Step:
    return commanding(monkeypatch, capsys)


@pytest.fixture
def one(tmp_path: Path) -> str:
    (tmp_path / "one.py").write_text(PROGRAM.format(name="one", more=""))
    return f"{tmp_path}/one.py:one"


@pytest.fixture
def two(tmp_path: Path) -> str:
    (tmp_path / "two.py").write_text(PROGRAM.format(name="two", more='accum(Add(), name="total").'))
    return f"{tmp_path}/two.py:two"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "c.json"


def test_a_table_says_what_was_measured(step: Step, one: str, two: str, file: Path, runs: list[str]) -> None:
    done = step("calibrate", one, "-o", file)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "1 unit measured; of functions by the formulas, where they differ",
        "unit                                   beats  interval  latency  samples  spread  residual",
        "map exp() of BF16[2, 4] to BF16[2, 4]      1         1        7       99       0         0",
        f"written: {file}",
    ]
    done = step("calibrate", one, "-o", file, "--held-out", two)
    assert "1 unit measured" in done.out and "\n1 unit in the file already, of the same RTL\n" in done.out
    assert "\nheld out: two, 36 cycles in RTL, 36 by this calibration (0.00%); 0 of 18 tokens off time\n" in done.out
    assert runs == ["calibration", "calibration", "two"]


def test_what_was_measured_as_json(step: Step, one: str, file: Path) -> None:
    done = step("calibrate", one, "-o", file, "--seed", 5, "--json")
    data = json.loads(done.out)
    validate(data, "calibration", "stdout")
    assert data == json.loads(file.read_text()) and data["seed"] == 5
    assert step("calibrate", one, "-o", file, "--seed", 6).err == (f"error: {file} was begun with --seed 5, not 6\n")


def test_run_takes_the_numbers(step: Step, one: str, two: str, file: Path) -> None:
    step("calibrate", one, "-o", file)
    usual = json.loads(step("run", one, "--backend", "approx", "--json").out)["cycles"]
    assert json.loads(step("run", one, "--backend", "approx", "--calibration", file, "--json").out)["cycles"] == usual
    data = json.loads(file.read_text())
    data["units"][0]["latency"] += 100
    file.write_text(json.dumps(data))
    slow = json.loads(step("run", one, "--backend", "approx", "--calibration", file, "--json").out)["cycles"]
    assert slow == usual + 100

    done = step("run", two, "--backend", "approx", "--calibration", file)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: {file} has no entry for accum add() of BF16[2, 4] to FP32[2, 4] ('total', {two.split(':')[0]}:10); "
        f"measure what two needs: step calibrate PROGRAM -o {file}\n"
    )
    assert step("calibrate", two, "-o", file).code == 0
    assert step("run", two, "--backend", "approx", "--calibration", file).code == 0


@pytest.mark.parametrize("name", ["rtl", "interpret"])
def test_other_back_ends_take_none(step: Step, one: str, file: Path, name: str) -> None:
    done = step("run", one, "--backend", name, "--calibration", file)
    assert (done.code, done.err) == (1, f"error: --calibration has no effect with --backend {name}; it needs approx\n")


def test_compare_shows_the_errors_of_a_calibration(step: Step, one: str, two: str, file: Path, runs: list[str]) -> None:
    step("calibrate", one, "-o", file)
    done = step("compare", one, "--calibration", file)
    assert done.code == 0 and done.out.splitlines()[2].split() == ["x", "7", "0", "0", "0.00%", "0"]
    date = json.loads(file.read_text())["date"]
    assert done.out.splitlines()[-3:] == [
        f"calibration: {file} of {date}",
        "held out: no program; step calibrate --held-out PROGRAM compares one with RTL",
        "ok: RTL, fast model and interpreter agree on 1 program",
    ]
    step("calibrate", one, "-o", file, "--held-out", two)
    data = json.loads(file.read_text())
    data["units"][0]["interval"] += 9
    del data["units"][1]  # the sum of the other one
    file.write_text(json.dumps(data))
    done = step("compare", one, "--calibration", file, "--json")
    (found,) = json.loads(done.out)
    assert done.code == 4 and found["error"] > 0.5 and found["mismatches"] > 0
    (unit,) = (each for each in found["operators"] if each["name"] == "exp")
    assert unit["approximate"]["busy"] > unit["exact"]["busy"]
    assert (
        unit["error"] == pytest.approx(unit["approximate"]["busy"] / unit["exact"]["busy"] - 1)
        and unit["mismatches"] > 0
    )
    done = step("compare", one, "--calibration", file)
    assert done.out.splitlines()[:8] == [
        "one: cycles per operator, RTL | fast model where it differs",
        "operator    busy  starved  blocked    error  off time",
        "x              7        0   0 | 36    0.00%         4",
        "exp       7 | 61        1        0  771.43%         6",
        "y              7   9 | 63        0    0.00%         0",
        "",
        "RTL | fast model where it differs",
        "program   cycles    error  tokens  off time  off-chip bytes  outputs  float64",
    ]
    assert "\nheld out: two, 36 cycles in RTL, 36 by this calibration (0.00%); 0 of 18 tokens off time\n" in done.out

    del runs[:]
    assert f"error: {file} has no entry for accum" in step("compare", two, "--calibration", file).err
    assert runs == []  # told before RTL is built


def test_ctrl_c_keeps_what_was_measured(
    step: Step, two: str, file: Path, monkeypatch: pytest.MonkeyPatch, runs: list[str]
) -> None:
    monkeypatch.setattr("step_check.calibration.campaign.TOGETHER", 1)
    measure = Campaign._measure

    def interrupted(self: Campaign, *arguments: object) -> None:
        if self.measured:
            raise KeyboardInterrupt
        measure(self, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Campaign, "_measure", interrupted)
        done = step("calibrate", two, "-o", file)
    assert (done.code, done.out) == (130, "")
    assert done.err.startswith("1 unit measured; the same command goes on from there\n")
    assert len(json.loads(file.read_text())["units"]) == 1 and runs == ["calibration"]
    assert step("calibrate", two, "-o", file).code == 0
    assert len(json.loads(file.read_text())["units"]) == 2 and len(runs) == 2


def test_bad_calls(step: Step, one: str, two: str, file: Path, tmp_path: Path) -> None:
    def error(*arguments: object) -> str:
        done = step("calibrate", *arguments)
        assert done.code in (1, 2)
        return done.err

    assert "Missing option '-o' / '--output'" in error(one)
    assert error(one, "-o", f"{one.split(':')[0]}/c.json") == (
        f"error: {one.split(':')[0]}/c.json can not be written: Not a directory\n"
    )
    (tmp_path / "other.json").write_text("{}")
    assert error(one, "-o", tmp_path / "other.json") == (
        f"error: {tmp_path}/other.json: $: 'format' is a required property\n"
    )
    step("calibrate", one, "-o", file)
    assert error(one, "-o", file, "--set", "fabric.stages=1") == (
        f"error: {file} is of a fabric with stages = 3, and this one has 1; measure this one into another file: "
        "step calibrate PROGRAM --set fabric.stages=1 -o OTHER.json\n"
    )


def test_without_a_program_it_is_every_function(step: Step, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: list[list[str]] = []
    monkeypatch.setattr(Campaign, "run", lambda self, units: wanted.append([*units]))
    assert step("calibrate", "-o", file, "--set", "fabric.link_bytes=32").code == 0
    labels, others = wanted
    assert labels == others and {"map_matmul", "scan_add", "flat_map_count_from"} <= set(labels)
    assert "partition" not in labels  # it applies no function
    data = json.loads(file.read_text())
    assert data["fabric"]["link_bytes"] == 32 and data["memory"]["latency"] == 24
