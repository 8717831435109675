"""``step waves`` and ``step tokens``: both back ends, files, exit codes and exact complaints."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from cases import cases
from commanding import Step, program
from reading_waves import VCDVCD

FRAGILE = "tests/integration/fragile.py"
BACKENDS = ("approx", "rtl")


stuck = program("stuck")


# The simulator of the fragile program is built for other tests too.


def test_tokens_are_the_same_on_both_back_ends(step: Step) -> None:
    for form in ([], ["--csv"], ["--json"], ["--of", "spread,scaled", "--from", 12, "--to", 16]):
        model, exact = (step("tokens", FRAGILE, *form, "--backend", name) for name in BACKENDS)
        assert model == exact and (exact.code, exact.err) == (0, "")
    assert step("tokens", FRAGILE, *form) == exact  # RTL is the default


def test_waves_are_the_same_on_both_back_ends(step: Step, tmp_path: Path) -> None:
    written = []
    for name in BACKENDS:
        result = step("waves", FRAGILE, "--backend", name, "-o", tmp_path / "run.vcd")
        files = ", ".join(str(tmp_path / file) for file in ("run.vcd", "run.gtkw", "run.sucl"))
        assert result == (0, f"{files}: 11 channels, cycles 0 to 33\n", "")
        written.append([(tmp_path / file).read_bytes() for file in ("run.vcd", "run.gtkw", "run.sucl")])
    assert written[0] == written[1]


@pytest.mark.parametrize("name", BACKENDS)
def test_a_run_that_deadlocks_leaves_its_waves_and_tokens(step: Step, stuck: Path, tmp_path: Path, name: str) -> None:
    waves = tmp_path / "stuck.vcd"
    result = step("waves", stuck, "--backend", name, "--of", "spread", "-o", waves)
    assert (result.code, result.out.rpartition(": ")[2]) == (4, "3 channels, cycles 0 to 15\n")
    assert result.err.startswith("error: deadlock: from cycle 16 on nothing can move")
    level = VCDVCD(vcd_string=waves.read_text())["fragile.spread.in1.level"]
    assert int(level[15], 2) == 2  # full
    result = step("tokens", stuck, "--backend", name, "--of", "spread", "--csv")
    assert (result.code, len(result.out.splitlines())) == (4, 1 + 5)
    assert result.err.startswith("error: deadlock: from cycle 16 on nothing can move")


def test_tokens_as_csv_and_json_say_the_same(step: Step) -> None:
    plain = json.loads(step("tokens", FRAGILE, "--of", "spread", "--backend", "approx", "--json").out)
    table = csv.DictReader(io.StringIO(step("tokens", FRAGILE, "--of", "spread", "--backend", "approx", "--csv").out))
    assert [{key: str(each) for key, each in row.items()} for row in plain] == list(table)
    assert plain[2] == {
        "operator": "spread", "port": "in0", "channel": "alone", "number": 0, "kind": "value", "stop": 1, "rank": 0,
        "entered": 12, "left": 14,
    }  # fmt: skip


def test_waves_are_called_like_the_program(step: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path(FRAGILE).absolute()
    monkeypatch.chdir(tmp_path)
    window = ["--from", 3, "--to", 9]
    result = step("waves", program, "--of", "scaled , spread", *window, "--backend", "approx", "--json")
    assert json.loads(result.out) == {
        "vcd": "fragile.vcd", "gtkwave": "fragile.gtkw", "surfer": "fragile.sucl", "channels": 5, "first": 3, "last": 9,
    }  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fragile.gtkw", "fragile.sucl", "fragile.vcd"]


@cases(
    (["waves", "--of", "spred"], "there is no operator 'spred'; did you mean 'spread'? there are left, "),
    (["tokens", "--of", "a,,b"], "names of operators must be parted by commas, as in a,b, not 'a,,b'\n"),
    (["tokens", "--of", "left,left"], "the operator left is there twice in 'left,left'\n"),
    (["waves", "--of", "left,left"], "the operator left is there twice in 'left,left'\n"),
    (["waves", "-o", "w.fst"], "waves must go to a file that ends in .vcd, not 'w.fst'\n"),
    (["waves", "-o", "/proc/w.vcd"], "/proc/w.vcd can not be written: No such file or directory\n"),

    (["tokens", "--from", "34"], "the run has 34 cycles, so there is no cycle 34\n"),
)  # fmt: skip
def test_what_can_not_be(arguments: list[str], text: str, step: Step) -> None:
    verb, *options = arguments
    assert step(verb, FRAGILE, "--backend", "approx", *options).failed().startswith(f"error: {text}")
