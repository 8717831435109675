"""Options that a verb refuses: exit code and exact text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from commanding import ROOT, Step

SIMPLE, SWIGLU, MOE = "examples/softmax.py", "examples/swiglu.py", "examples/moe_simple.py"
PAGE = str(ROOT / "tests" / "step_torch" / "captured" / "page.pt2")
PLOTS = "bandwidth, fifos, occupancy, roofline, tokens_per_expert, utilization"

REFUSED: dict[tuple[str, ...], list[tuple[Sequence[object], str]]] = {
    ("fit", SIMPLE): [
        ([], "a fit needs a goal: within=0.05, or a budget of luts, dsp, ram or cycles"),
        (["--within", "5%", "--luts", "9"],
         "a fit is within a loss of cycles or within an area, not both; give within, or a budget"),

    ],
    ("sweep", SWIGLU): [
        (["--over", "rows=2", "--over", "rows=4"], "rows is swept over twice"),

        (["--over", "row=2"],
         "examples/swiglu.py:program has no parameter 'row'; did you mean 'rows'? it has batch, hidden, inner, rows, "
         "depth, columns"),
        (["--over", "stages=2"],
         "examples/swiglu.py:program has no parameter 'stages'; it has batch, hidden, inner, rows, depth, columns\n"
         "  the parameter of the fabric is written fabric.stages"),
        (["--over", "rows=2", "--seed", 1], "--seed has no effect without --search"),
        (["--over", "rows=2", "--jobs", 2, "--scheduler", "tcp://localhost:1"],
         "--jobs has no effect with --scheduler, whose workers run the points"),
        (["--over", "rows=2", "--objective", "cycles,area"],
         "there is no objective 'area'; there are cycles, off_chip_bytes, on_chip_bytes, channel_bytes, load_bytes, "
         "energy, time, power, lanes, lut_sites, cycles_per_token"),
        (["--over", "rows=2", "--objective", "cycles", "--plot", "p.svg"],
         "a plot needs two objectives, as in cycles,channel_bytes"),
        (["--over", "rows=2", "--plot", "p.gif"],
         "a plot must go to a file that ends in .svg, .png, .pdf, not 'p.gif'"),

    ],
    ("tune", SWIGLU, "--jobs", "1"): [
        (["--over", "rows=2", "--seed", 1], "--seed has no effect without --search"),
        (["--over", "rows=1", "--over", "rows=2"], "rows is swept over twice"),
        (["--over", "rows=1", "--budget", "luts=5"],
         "there is no budget of 'luts'; there are cycles, lut_sites, lanes, memory_bytes, "
         "on_chip_bytes, channel_bytes, load_bytes, off_chip_bytes, bytes_per_cycle, energy"),

        (["--over", "row=1..4:legal"],
         "no row from 1 to 4 makes a program; of the last one: examples/swiglu.py:program has no parameter 'row'; did "
         "you mean 'rows'? it has batch, hidden, inner, rows, depth, columns"),
        (["--over", "rows=1", "--case", "seed"], "an argument must be NAME=VALUE, not 'seed'"),
    ],
    ("map", PAGE): [
        (("--luts", "many"), "a budget must be NAME=NUMBER, such as lut_sites=300k or memory_bytes=4Mbit, not "
         "'lut_sites=many'"),
        (("--luts", "1M", "--over", "rows=4", "--over", "rows=8"), "rows is given twice"),
        (("--luts", "1M", "--save", "rows.txt"), "a sweep must go to a file that ends in .csv or .parquet, not "
         "'rows.txt'"),
    ],
    (): [
        (["fit", SIMPLE, "--luts", "9kB"], "--luts must be a number without a unit, such as 300k, not '9kB'"),
        (["fit", SIMPLE, "--cycles", "8bit"], "--cycles must be a number without a unit, such as 300k, not '8bit'"),
        (["fit", SIMPLE, "--ram", "-1"], "--ram must be a number without a unit, such as 300k, not '-1'"),
        (["fit", SIMPLE, "--dsp", "1.5"], "--dsp must be whole multipliers, and '1.5' are 1.5"),
        (["fit", SIMPLE, "--within", "nan"], "--within must be a percentage such as 5%, not 'nan'"),
        (["tune", SIMPLE, "--over", "n=1", "--within", "5bit"], "--within must be a percentage such as 5%, not '5bit'"),
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
    ("run", MOE, "--backend", "approx", "--plot"): [
        (["roofline"], f"--plot must be NAME=FILE, not 'roofline'; there are {PLOTS}"),
        (["roof=r.svg"], f"--plot must be NAME=FILE, not 'roof=r.svg'; there are {PLOTS}"),
        (["rooflin=r.svg"],
         f"--plot must be NAME=FILE, not 'rooflin=r.svg'; did you mean 'roofline'? there are {PLOTS}"),
        (["roofline=r.gif"], "a plot must go to a file that ends in .svg, .png, .pdf, not 'r.gif'"),
    ],
}  # fmt: skip
"""What is refused, and the error, by how the command line begins."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((*verb, *options), message) for verb, rows in REFUSED.items() for options, message in rows],
)
def test_what_is_refused(step: Step, arguments: Sequence[object], message: str) -> None:
    assert step(*arguments) == (1, "", f"error: {message}\n")
