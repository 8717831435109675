"""``step run --plot``."""

from __future__ import annotations

from pathlib import Path

import pytest
from commanding import Step

SIMPLE = "examples/moe_simple.py"
PLOTS = "bandwidth, fifos, occupancy, roofline, tokens_per_expert, utilization"


def test_pictures_of_a_run(step: Step, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    roofline, fifos = tmp_path / "roofline.svg", tmp_path / "fifos.png"
    found = step("run", SIMPLE, "--backend", "approx", "--plot", f"roofline={roofline}", "--plot", f"fifos={fifos}")
    assert (found.code, found.out.splitlines()[-2:], found.err) == (
        0,
        [f"written: {roofline}", f"written: {fifos}"],
        "",
    )
    assert b"FLOP/cycle" in roofline.read_bytes() and fifos.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        ("roofline", f"--plot must be NAME=FILE, not 'roofline'; there are {PLOTS}"),
        ("roof=r.svg", f"--plot must be NAME=FILE, not 'roof=r.svg'; there are {PLOTS}"),
        ("rooflin=r.svg", f"--plot must be NAME=FILE, not 'rooflin=r.svg'; did you mean 'roofline'? there are {PLOTS}"),
        ("roofline=r.gif", "a plot must go to a file that ends in .svg, .png, .pdf, not 'r.gif'"),
    ],
)
def test_bad_usage(step: Step, plot: str, message: str) -> None:
    assert step("run", SIMPLE, "--backend", "approx", "--plot", plot) == (1, "", f"error: {message}\n")


def test_a_run_without_time_has_no_picture(step: Step) -> None:
    message = "error: --plot has no effect with --backend interpret; it needs approx or rtl\n"
    assert step("run", SIMPLE, "--backend", "interpret", "--plot", "roofline=r.svg") == (1, "", message)
