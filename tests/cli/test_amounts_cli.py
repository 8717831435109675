"""Options that are amounts: other units, and names that are there twice."""

from __future__ import annotations

import pytest
from commanding import Step

SIMPLE = "examples/softmax.py"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", SIMPLE, "--luts", "9kB"], "--luts must be a number without a unit, such as 300k, not '9kB'"),
        (["fit", SIMPLE, "--cycles", "8bit"], "--cycles must be a number without a unit, such as 300k, not '8bit'"),
        (["fit", SIMPLE, "--ram", "-1"], "--ram must be a number without a unit, such as 300k, not '-1'"),
        (["fit", SIMPLE, "--dsp", "1.5"], "--dsp must be whole multipliers, and '1.5' are 1.5"),
        (["fit", SIMPLE, "--within", "nan"], "--within must be a percentage such as 5%, not 'nan'"),
        (["tune", SIMPLE, "--over", "n=1", "--within", "5bit"],
         "--within must be a percentage such as 5%, not '5bit'"),
        (["tune", SIMPLE, "--over", "n=1", "--budget", "lut_sites=300kbit"],
         "a budget of lut_sites must be a number without a unit, such as 300k, not '300kbit'"),
        (["map", "none.pt2", "--luts", "1600kbit"],
         "a budget of lut_sites must be a number without a unit, such as 300k, not '1600kbit'"),
        (["map", "none.pt2", "--luts", "1M", "--bytes-per-cycle", "64GB"],
         "--bytes-per-cycle must be a number of B/cycle or bit/cycle, such as 64 or 512bit/cycle, not '64GB'"),
        (["fifos", SIMPLE, "--loss", "nan"], "--loss must be a percentage such as 5%, not 'nan'"),
        (["synth", SIMPLE, "--target", "5ns"],
         "--target must be a number of Hz, or of MHz without a unit, such as 250MHz, not '5ns'"),
        (["synth", SIMPLE, "--target", "1kHz"], "--target must be at least 1, not '1kHz'"),
        (["board", SIMPLE, "-o", "x", "--clock", "nan"],
         "--clock must be a number of Hz, or of MHz without a unit, such as 250MHz, not 'nan'"),
        (["cache", "clean", "--older-than", "nan"], "--older-than must be a number of days, such as 30, not 'nan'"),
        (["metrics", SIMPLE, "--bind", "N=1", "--bind", "N=2"], "the symbol N is given twice"),
        (["check", SIMPLE, "--set", "fabric.stages=1", "--set", "stages=2"],
         "'fabric.stages=1' and 'stages=2' set the same parameter of the fabric: leave one of them out"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(step: Step, arguments: list[str], message: str) -> None:
    done = step(*arguments)
    assert (done.code, done.out) == (1, "") and done.err.endswith(f"error: {message}\n")
