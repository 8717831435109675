"""What a terminal and a notebook show of graphs, programs, runs, outputs and metrics."""

from __future__ import annotations

import re
import shutil
import sys
from itertools import combinations
from math import dist
from xml.etree import ElementTree

import pytest

import step
from step import FP32, FabricConfig, Graph, Program, Tile
from step.functions import Scale
from step.programs.pictures.layered import layered_svg
from step.programs.pictures.sketch import LAST, sketch, sketch_before
from step.programs.tables import bar, table


def cells_of(markup: str) -> list[str]:
    """The text in the cells of all tables."""
    found = ElementTree.fromstring(f"<all>{markup}</all>").iter()
    return ["".join(each.itertext()) for each in found if each.tag in ("td", "th", "caption")]


def program() -> Program:
    graph = Graph("scaled")
    graph.source("x", Tile(FP32), [graph.symbol("N")]).map(Scale(2)).sink("y")
    return Program(graph, {"x": [1, 2]})


def test_every_thing_is_a_line() -> None:
    shown = program()
    run = step.run(shown, "approx", values="all")
    assert repr(shown.graph) == "<graph scaled: 3 operators>"
    assert repr(shown) == "<program scaled: 3 operators, 1 inputs>"
    assert repr(run) == f"<run of scaled on approx: {run.cycles} cycles>"
    assert repr(run.result) == f"<result of scaled on approx: finished, {run.cycles} cycles>"
    assert repr(run.outputs["y"]) == "<output y: [N] of Tile(FP32, 1, 1)>"
    counts = "off_chip_bytes=0, on_chip_bytes=0, flops=N, channel_bytes=16, load_bytes=0, useful_flops=N"
    assert repr(step.metrics(shown)) == f"Metrics({counts})"


def test_graphs_and_programs_are_pictures() -> None:
    for shown in (program(), program().graph):
        picture = shown._repr_svg_()
        assert picture is not None
        assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg" and "function=scale(" in picture


def test_a_stream_is_a_picture_of_its_type_and_the_last_operators(graph: Graph) -> None:
    loop = graph.feedback(Tile(FP32), [2], name="loop")
    x = loop.stream
    for _ in range(LAST + 1):
        x = x.map(Scale(2))
    shown = sketch_before(x.buffered(4))
    names = [each.lines[0] for each in shown.boxes.values()]
    assert names == [*(f"map_{at}" for at in (6, 5, 4, 3, 2, 1, 0)), "[2] of Tile(FP32, 1, 1)"]
    assert shown.boxes["map_0"].lines == ["map_0"] and shown.arrows[-1].lines == ["depth 4"]
    assert ">depth 4</text>" in str(x.buffered(4)._repr_svg_())
    assert list(sketch_before(loop.stream).boxes) == ["loop", ""]
    assert list(sketch(graph).boxes) == [*(f"map_{at}" for at in range(LAST + 1)), "loop"]  # nobody closed it yet


def test_a_picture_has_every_box_inside_and_every_edge_from_box_to_box() -> None:
    graph = Graph("forked")
    forked = graph.source("x", Tile(FP32), [graph.symbol("N")])
    forked.map(Scale(2)).sink("y")
    forked.sink("z")
    graph.source("alone", Tile(FP32), [graph.symbol("M")]).sink("w")
    picture = ElementTree.fromstring(layered_svg(sketch(graph, FabricConfig(), {})))
    svg = "{http://www.w3.org/2000/svg}"
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    boxes = [each for each in picture.iter(f"{svg}rect") if "x" in each.attrib]
    corners = [[float(each.attrib[name]) for name in ("x", "y", "width", "height")] for each in boxes]
    assert len(corners) == 6
    assert all(x > 0 and y > 0 and x + w < width and y + h < height for x, y, w, h in corners)
    places = [(x, y, x + w, y + h) for x, y, w, h in corners]
    assert not [
        (one, other) for one, other in combinations(places, 2)
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]  # fmt: skip
    lower, upper = {(x + w / 2, y + h) for x, y, w, h in corners}, {(x + w / 2, y) for x, y, w, h in corners}
    curves = [each.attrib["d"] for each in picture.iter(f"{svg}path") if "marker-end" in each.attrib]
    assert len(curves) == 4
    for curve in curves:
        numbers = [float(each) for each in re.findall(r"-?[\d.]+", curve)]
        assert min(dist(numbers[:2], each) for each in lower) < 0.2
        assert min(dist(numbers[-2:], each) for each in upper) < 0.2


def test_without_anything_that_draws_there_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "grandalf.graphs", None)
    monkeypatch.delitem(
        sys.modules, "step.programs.pictures.layered", raising=False
    )  # what was drawn before has imported it
    assert program()._repr_svg_() is None


def test_a_run_is_a_table_of_what_operators_did() -> None:
    run = step.run(program(), "approx")
    cells = cells_of(run._repr_html_())
    assert cells[0] == f"scaled on approx: {run.cycles} cycles"
    assert cells[1:7] == ["operator", "busy", "starved", "blocked", "finished", "share of the cycles"]
    assert [cells[7 + 6 * row] for row in range(3)] == ["x", "map_0", "y"]
    assert sum(map(int, cells[8:12])) == run.cycles and cells[25:] == []
    cells = cells_of(step.run(program(), "approx", values="all")._repr_html_())
    assert cells[25:] == ["output", "type", "y", "[N] of Tile(FP32, 1, 1)"]
    cells = cells_of(step.run(program(), "interpret")._repr_html_())
    assert cells == ["scaled on interpret", "output", "type", "y", "[N] of Tile(FP32, 1, 1)"]


def test_columns_outputs_and_metrics_are_tables() -> None:
    run = step.run(program(), "approx", values="all")
    assert cells_of(run.channels._repr_html_())[:4] == ["channel", "tokens", "peak", "capacity"]
    assert cells_of(run.outputs["y"]._repr_html_())[4:] == ["y", "[N] of Tile(FP32, 1, 1)", "2", "[[2.]]"]
    measured = step.metrics(program())
    assert cells_of(measured._repr_html_())[9:12] == ["flops", "N", "FLOP"]
    assert cells_of(measured.bind(step.bind(program()))._repr_html_())[9:12] == ["flops", "2", "FLOP"]


def test_text_is_escaped_and_numbers_are_readable() -> None:
    cells = cells_of(
        table(("<a>", "n"), [("<b>", 1234567), (bar({"busy": 0.5, "gone": 0}, {"busy": "red"}), 0.5)], "&")
    )
    assert cells == ["&", "<a>", "n", "<b>", "1,234,567", "", "0.5"]
