"""The page of a run: repeated parts folded, what limits first, and ticks, legends and shapes where there are scales."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from cases import cases

from sim_approx.explain.explanation import Explanation, explain
from sim_approx.explain.limit import folded_shares, limit
from sim_approx.explain.page_data import DIGITS, digits
from sim_approx.explain.report import opened, report
from sim_approx.explain.roofline import number, points, ticks
from sim_approx.explain.timeline import banded, timeline
from step import BF16, Graph, Tile, load_program
from step.functions import Exp, Silu
from step.lowering.fabric import FabricConfig
from step.programs.folding import common, folded, members
from step.programs.pictures.sketch import fold, sketch
from step.running.result import Activity


@cache
def mixtral() -> Explanation:
    return explain(load_program("examples/moe_mixtral.py"), changes=False)


@cache
def page() -> str:
    return report(mixtral())


def data() -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page(), re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def test_operators_that_are_alike_are_one_part() -> None:
    """Of eight experts; all other operators are like no other."""
    parts = members(mixtral().parts)
    assert {len(names) for names in parts.values()} == {1, 8}
    assert parts["expert*_gate_projection"] == [f"expert{place}_gate_projection" for place in range(8)]
    assert parts["gather"] == ["gather"]
    assert sum(map(len, parts.values())) == len(mixtral().accounts)


def test_the_same_name_is_not_enough(graph: Graph) -> None:
    for place in range(6):
        x = graph.source(f"x{place}", Tile(BF16, 4, 4), [2])
        x.map(Exp() if place < 3 else Silu(), name=f"step{place}").sink(f"y{place}")
    parts = folded(graph)
    assert [parts[f"step{place}"] for place in (0, 2, 3, 5)] == ["step*", "step*", "step* (2)", "step* (2)"]


def test_two_are_no_repetition(graph: Graph) -> None:
    for place in range(2):
        graph.source(f"x{place}", Tile(BF16, 4, 4), [2]).sink(f"y{place}")
    assert folded(graph) == {name: name for name in ("x0", "x1", "y0", "y1")}


@cases(
    (["[4] of Tile(BF16, 4, 4)"] * 2, "[4] of Tile(BF16, 4, 4)"),
    (["[D0, 4]", "[D1, 4]"], "[D*, 4]"),
    (["exp", "silu"], "exp, .."),
)
def test_what_all_of_them_say(texts: list[str], said: str) -> None:
    assert common(texts) == said


def test_the_unit_that_limits_comes_first() -> None:
    found = limit(mixtral())
    assert found is not None and (found.part, found.unit) == ("expert*_gate_projection", "expert6_gate_projection")
    said = (
        "expert*_gate_projection (8 alike, most of it expert6_gate_projection) limits the run: 93.6% of the critical "
        "path, 6,148 of 6,568 cycles (works 6,080, latency 68)"
    )
    assert found.text == said
    assert html.escape(said) in page()[page().index('id="limit"') : page().index('id="graph"')]
    assert data()["centre"] == {
        "folded": "expert*_gate_projection",
        "opened at expert6_gate_projection": "expert6_gate_projection",
    }


def test_memory_limits_at_the_port_that_moves_most() -> None:
    found = limit(explain(load_program("examples/softmax.py"), changes=False))
    assert found is not None and (found.part, found.unit) == ("off-chip memory", "output")


def test_rows_of_the_page_are_folded_and_add_up() -> None:
    found, rows = mixtral(), data()
    operators = {row[0]: row for row in rows["operators"]}
    assert len(operators) == len(set(found.parts.values()))
    _, count, busy, starved, blocked, finished, most, _, _, inner = operators["expert*_gate_projection"]
    assert (
        count == 8 == len(inner)
        and most == max(row[2] for row in inner) == found.accounts["expert6_up_projection"].busy
    )
    assert busy == pytest.approx(sum(row[2] for row in inner) / 8, abs=0.5)
    assert busy + starved + blocked + finished == pytest.approx(found.cycles, abs=2)
    shares = rows["shares"]
    assert sum(row[3] for row in shares) == found.cycles
    assert sum(sum(of.values()) for of in folded_shares(found).values()) == found.cycles
    assert len(rows["channels"]) < len(found.result.channels) / 4
    assert sum(row[1] for row in rows["channels"]) == len(found.result.channels)


def test_bands_of_time_have_the_cycles_of_the_counters() -> None:
    found = mixtral()
    lines = timeline(found)
    assert lines.width * (len(lines.path) - 1) < found.cycles <= lines.width * len(lines.path)
    for name, spent in zip(lines.operators, lines.spent, strict=True):
        counted = found.result.operators[name]
        sums = spent.sum(axis=1)
        assert sums[Activity.STARVED] == counted.starved and sums[Activity.BLOCKED] == counted.blocked
        # A firing that was begun before the end occupies the operator, which is counted as finished then.
        assert sums[Activity.BUSY] + sums[Activity.FINISHED] == counted.busy + counted.finished
    moved = found.usage.roofline.bytes_moved
    assert lines.beats.sum() * found.simulation.fabric.netlist.fabric.memory.beat_bytes == moved
    bands = data()["bands"]
    assert {len(text) for _, text, _ in bands} == {3 * len(lines.path)}


def test_times_are_cut_at_bands() -> None:
    since, until = np.array([0, 3, 12]), np.array([5, 27, 13])
    assert banded(np.array([0, 1, 1]), since, until, 10, (2, 3)).tolist() == [[5, 0, 0], [7, 11, 7]]
    assert digits(np.array([0, 1e-9, 0.5, 1])) == f"0{DIGITS[1]}{DIGITS[18]}{DIGITS[-1]}"


def test_the_roofline_has_ticks_a_legend_and_all_operators() -> None:
    roofline = page()[page().index('id="roofline"') :]
    assert "this run: operations an off-chip byte" in roofline
    shown = {each.part for each in points(mixtral())}
    assert shown == {mixtral().parts[name] for name in mixtral().usage.work} and len(shown) > 5
    assert roofline.count('fill-opacity="0.6"') == len(shown)
    assert list(ticks(0.3, 5)) == [0.5, 1, 2, 4] and list(map(number, (0.125, 1, 1024))) == ["1/8", "1", "1,024"]
    assert len(list(ticks(2**-20, 2**20))) <= 11


def test_edges_have_shapes_and_depths_that_are_not_the_default(graph: Graph) -> None:
    """Folded too; no edge says the depth that all have."""
    for place in range(3):
        x = graph.source(f"x{place}", Tile(BF16, 4, 4), [2, 6])
        (x.map(Exp(), name=f"step{place}").buffered(9) if place else x).sink(f"y{place}")
    flat = sketch(graph, FabricConfig(), {})
    lines = {(each.producer, each.consumer): each.lines for each in flat.arrows}
    assert lines["x1", "step1"] == ["[2, 6] of Tile(BF16, 4, 4)"]
    assert lines["step1", "y1"] == ["[2, 6] of Tile(BF16, 4, 4)", "depth 9"]
    once = fold(flat, folded(graph), {})
    assert once.boxes["x*"].lines[0] == "x* \N{MULTIPLICATION SIGN} 3"
    assert {tuple(each.lines) for each in once.arrows if each.producer == "x*" and each.consumer == "step1"} == {
        ("[2, 6] of Tile(BF16, 4, 4)",)
    }
    assert "[ceiling(route_D*/4), 4] of Tile(FP32, 4, 16)" in page() and ">depth 2</text>" not in page()


def test_the_picture_opens_the_expert_that_limits() -> None:
    parts = opened(mixtral().parts, "expert6_gate_projection")
    alone = [name for name, part in parts.items() if part == name and name.startswith("expert")]
    assert alone and all(name.startswith("expert6_") for name in alone)
    assert len(members(parts)["expert*_gate_projection"]) == 7
