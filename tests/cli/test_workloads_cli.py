"""``--per`` and ``--tokens``, and useful operations in tables."""

from __future__ import annotations

import json

from commanding import PROGRAMS, Step

MIXTURE = "examples/swiglu.py"


def test_a_front_per_batch_and_cycles_by_tokens(step: Step) -> None:
    given = ("--over", "batch=8,16", "--over", "rows=4,8", "--jobs", 1)
    done = step("sweep", MIXTURE, *given, "--per", "batch", "--tokens", "batch", "--objective", "cycles_per_token")
    assert done.code == 0 and "2 of them on the front of cycles_per_token, for each batch" in done.out
    assert "cycles/token" in done.out and "useful" not in done.out
    rows = json.loads(step("sweep", MIXTURE, *given, "--tokens", "batch", "--json").out)
    assert all(row["cycles_per_token"] == round(row["cycles"] / row["batch"], 6) for row in rows)
    assert "cycles/token" not in step("sweep", MIXTURE, *given).out
    assert step("sweep", MIXTURE, *given, "--per", "tokens").err == (
        "error: per must name parameters that are swept over, not 'tokens'; there are batch, rows\n"
    )


def test_useful_operations(step: Step) -> None:
    path = PROGRAMS / "padded.py"
    found = json.loads(step("metrics", path, "--json").out)
    assert found["metrics"]["flops"] == 8 * 8 * 4 and found["metrics"]["useful_flops"] == 8 * 6 * 4
    assert found["at_most"] == [] and found["metrics"]["useful_intensity"] * 4 == 3 * found["metrics"]["intensity"]
    doubted = step("metrics", path, "--arg", "turned=true")
    assert "useful_flops is at most so much: which rows are padding is not known at map_1" in doubted.err
    assert " useful " in step("sweep", path, "--over", "rows=4,8", "--jobs", 1).out
    explained = step("explain", path, "--arg", "rows=8")
    assert "  useful: 75.0% of the operations; the others are on padding\n" in explained.out
    roofline = json.loads(step("explain", path, "--arg", "rows=8", "--json").out)["roofline"]
    assert (roofline["flops"], roofline["useful"]) == (8 * 8 * 4, 8 * 6 * 4)
