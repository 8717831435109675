"""``--per`` and ``--tokens``, and useful operations in tables."""

from __future__ import annotations

import json
from pathlib import Path

from commanding import Step

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


PADDED = """
from step import FP32, Graph, Program, Tile
from step.functions import Silu, Transpose

def program(rows=4, turned=False):
    graph = Graph("padded")
    x = graph.load(graph.tensor("x", (6, 4), FP32), tile=(1, 4)).flatten(0, 2).tiles(rows)
    (x.map(Transpose()) if turned else x).map(Silu()).store("y")
    return Program(graph, {"x": [[1.0] * 4] * 6})
"""


def test_useful_operations(step: Step, tmp_path: Path) -> None:
    path = tmp_path / "padded.py"
    path.write_text(PADDED)
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
