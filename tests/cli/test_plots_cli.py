"""``step run --plot``."""

from __future__ import annotations

from pathlib import Path

import pytest
from commanding import Step

SIMPLE = "examples/moe_simple.py"


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


def test_a_run_without_time_has_no_picture(step: Step) -> None:
    message = "error: --plot has no effect with --backend interpret; it needs approx or rtl\n"
    assert step("run", SIMPLE, "--backend", "interpret", "--plot", "roofline=r.svg") == (1, "", message)
