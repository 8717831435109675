"""``step show``: text, Graphviz' language, and pictures with and without Graphviz."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from commanding import Step, program

from step import BF16, FabricConfig, Graph, Tile
from step.language.dtypes import UINT32
from step.programs.files.serialize import graph_from_json
from step.programs.pictures.outline import text

SIMPLE = "examples/moe_simple.py"


small = program("small")


def test_show_as_text(step: Step, small: Path) -> None:
    result = step("show", small)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "x = source(element=Tile(BF16, 1, 1), shape=[N, 2])",
        "    out: x, [N, 2] of Tile(BF16, 1, 1)",
        "flat = flatten(low=0, high=1)",
        "    in0: x, depth 2",
        "    out: flat, [2*N] of Tile(BF16, 1, 1)",
        "y = linear_off_chip_store()",
        "    in0: flat, depth 2",
        "unread = promote()",
        "    in0: x, depth 2",
        "    out: unread, [Min(1, N), N, 2] of Tile(BF16, 1, 1)",
    ]


def test_show_says_functions_tensors_ports_and_depths(step: Step) -> None:
    lines = step("show", SIMPLE).out.splitlines()
    for name, head, *ports in (
        ("expert0_load", "linear_off_chip_load(tensor=weight0, tile=[16, 16], out=[4], stride=[1])"),
        ("gather", "reassemble(rank=0)", "in0: expert0_kept.0, depth 11", "in2: routing, depth 11"),
        (
            "expert1_product",
            "map(function=matmul(out=BF16))",
            "in1: expert1_load, depth 2",
        ),
        ("expert0_chunks", "reshape(chunk=4)", "out_padding: expert0_chunks.padding, "),
    ):
        at = lines.index(f"{name} = {head}")
        assert all(any(each.strip().startswith(port) for each in lines[at + 1 : at + 4]) for port in ports)


def test_the_depth_of_a_channel_is_the_fabrics_where_the_program_gives_none(tmp_path: Path, graph: Graph) -> None:
    graph.source("x", Tile(BF16), [2]).promote().buffered(7).sink("y")
    shown = text(graph, FabricConfig(channel_depth=3))
    assert "    in0: x, depth 3\n" in shown and "    in0: promote_0, depth 7\n" in shown


def test_a_long_parameter_is_cut(graph: Graph) -> None:
    graph.generate(Tile(UINT32), range(3), (2,) * 9).sink("y")
    (line,) = (each for each in text(graph, FabricConfig()).splitlines() if "generate(" in each)
    assert "extents=[2, 2, 2, 2, 2, 2, 2, 2, ... 9 of them]" in line


def test_show_as_dot(step: Step, small: Path) -> None:
    lines = step("show", small, "--format", "dot").out.splitlines()
    assert lines[0] == 'digraph "small" {' and lines[-1] == "}"
    edge = '  "x" -> "flat" [label="[N, 2] of Tile(BF16, 1, 1)", taillabel="", headlabel=""];'
    assert edge in lines
    box = '  "x" [label="x\\nsource(element=Tile(BF16, 1, 1),\\n  shape=[N, 2])", '
    assert any(each.startswith(box) for each in lines)


def test_dot_names_the_ports_of_operators_with_several(step: Step) -> None:
    lines = step("show", SIMPLE, "--format", "dot").out.splitlines()
    (edge,) = (each for each in lines if each.startswith('  "expert0_chunks" -> "expert0_flags"'))
    assert edge.endswith('taillabel="out_padding", headlabel=""];')
    (edge,) = (each for each in lines if each.startswith('  "routing" -> "gather"'))
    assert edge.endswith('\\ndepth 11", taillabel="", headlabel="in2"];')


def fake_dot(folder: Path, script: str) -> Path:
    """A folder whose ``dot`` is this script."""
    folder.mkdir(exist_ok=True)
    (folder / "dot").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "dot").chmod(0o755)
    return folder


def test_show_as_svg_without_graphviz(step: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = step("show", SIMPLE, "-o", tmp_path / "drawn.svg")
    assert (result.code, result.out) == (0, f"written: {tmp_path}/drawn.svg\n")
    drawn = ElementTree.parse(tmp_path / "drawn.svg").getroot()
    texts = ["".join(each.itertext()) for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"expert1_product", "map(function=matmul(out=BF16))", "depth 11", "in1", "out_padding"} <= set(texts)


@pytest.mark.parametrize("form", ["png", "pdf", "svg"])
def test_graphviz_draws_where_it_is_installed(
    step: Step, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("PATH", f"{fake_dot(tmp_path / 'bin', 'echo $1; cat')}:/usr/bin:/bin")
    written = tmp_path / f"drawn.{form}"
    assert step("show", small, "-o", written) == (0, f"written: {written}\n", "")
    given = step("show", small, "--format", "dot").out
    assert (tmp_path / f"drawn.{form}").read_text() == f"-T{form}\n{given}"


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
@pytest.mark.parametrize("form, head", [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_pictures_by_graphviz(step: Step, tmp_path: Path, form: str, head: bytes) -> None:
    written = tmp_path / f"drawn.{form}"
    assert step("show", SIMPLE, "-o", written) == (0, f"written: {written}\n", "")
    assert (tmp_path / f"drawn.{form}").read_bytes().startswith(head)


def test_pictures_that_can_not_be_drawn(step: Step, small: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert step("show", small, "-o", tmp_path / "drawn.png") == (
        3, "", "error: a PNG needs Graphviz' dot: install graphviz (Debian: apt install graphviz); "
        "an SVG can be drawn without it\n",
    )  # fmt: skip
    dot = fake_dot(tmp_path / "bin", "echo no such font >&2; exit 1") / "dot"
    assert step("show", small, "-o", tmp_path / "drawn.pdf") == (3, "", f"error: {dot} drew no PDF: no such font\n")
    assert step("show", small, "--format", "png") == (1, "", "error: a PNG must go to a file: give -o FILE.png\n")
    assert step("show", small, "-o", "x.jpg") == (
        1, "", "error: the name of the output must end in one of .txt, .dot, .svg, .png, .pdf, or give --format; "
        "not 'x.jpg'\n",
    )  # fmt: skip
    assert not list(tmp_path.glob("drawn.*"))


def test_show_as_json_is_the_program(step: Step, small: Path) -> None:
    data = json.loads(step("show", small, "--json").out)
    assert data["name"] == "small" and list(graph_from_json(data).nodes) == ["x", "flat", "y", "unread"]
