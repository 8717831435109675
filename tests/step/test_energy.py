"""Energy from activity and figures."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from cases import cases
from filing import filed
from raising import raised

import step
from step import BF16, FP32, INT8, INT32, Graph, Program, Tile
from step.errors import FormatError, TypeMismatch
from step.functions import Add, Dequantize, Exp, Matmul
from step.language.function import FUNCTIONS, MapFunction
from step.programs.energy.figures import figures, published

ARITHMETIC = {*("fp32_add", "int32_add", "bf16_multiply", "fp32_multiply", "int8_multiply", "int32_multiply")}
"""Figures of operations on scalars."""


def product() -> Program:
    graph = Graph("product")
    left, right = graph.source("left", Tile(BF16, 4, 16), [3]), graph.source("right", Tile(BF16, 16, 8), [3])
    left.map(Matmul(), right, name="product").store("y")
    return Program(graph)


def test_a_product() -> None:
    found = step.metrics(product()).energy
    count = 3 * 4 * 16 * 8
    assert found.activity["bf16_multiply"] == found.activity["fp32_add"] == count
    assert found.activity["off_chip"] == 8 * step.metrics(product()).off_chip_bytes
    assert found.activity["link"] == 3 * ((4 * 16 + 16 * 8) * 16 + 4 * 8 * 32)
    parts = {name: float(value) for name, value in found.parts.items()}
    assert parts["products"] == pytest.approx(1.1 * count) and parts["additions"] == pytest.approx(0.9 * count)
    assert float(found.total) == pytest.approx(sum(parts.values()))


def test_formats_and_tables(graph: Graph) -> None:
    x = graph.source("x", Tile(FP32, 2, 2), [5])
    x.map(Add(), graph.source("z", Tile(FP32, 2, 2), [5])).map(Exp()).sink("y")
    found = step.metrics(graph).energy.activity
    assert found["fp32_add"] == 20 and found["int32_multiply"] == 40 and "bf16_multiply" not in found


def test_integers_with_scales(graph: Graph) -> None:
    x, w = graph.source("x", Tile(INT8, 1, 4), [5]), graph.source("w", Tile(INT8, 4, 2), [5])
    products = x.map(Matmul(out=INT32, bits=4), w)
    products.map(Dequantize(), graph.source("s", Tile(FP32, 1, 4), [5])).sink("y")
    found = step.metrics(graph).energy.activity
    assert found["int8_multiply"] == found["int32_add"] == 80 and found["fp32_multiply"] == 20


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_operations_are_counted(name: str) -> None:
    """Whatever has FLOPs takes energy for its arithmetic."""
    random = Random(0)
    for element in (Tile(BF16, 2, 4), Tile(FP32, 1, 4), Tile(INT32, 2, 4)):
        graph, sample = Graph(), FUNCTIONS[name].sample(random, element, reduce=False)
        if sample is None or not isinstance(sample.function, MapFunction):
            continue
        first, *others = (graph.source(f"x{at}", each, [1]) for at, each in enumerate(sample.elements))
        try:
            first.map(sample.function, *others).sink("y")
        except TypeMismatch:
            continue
        found = step.metrics(graph)
        assert (found.flops == 0) == (not found.energy.activity.keys() & ARITHMETIC), (name, sample)


def test_a_run_has_that_of_its_data(graph: Graph) -> None:
    n = graph.symbol("N")
    graph.source("x", Tile(FP32), [n]).map(Add(), graph.source("z", Tile(FP32), [n])).sink("y")
    program = Program(graph, {"x": [1.0, 2.0, 3.0], "z": [1.0, 1.0, 1.0]})
    run = step.run(program, "approx")
    assert run.energy.total == step.metrics(program).bind({"N": 3}).energy.total
    assert run.energy.activity["fp32_add"] == 3


def test_every_figure_has_a_source() -> None:
    assert all(each.source and each.technology and each.picojoules > 0 for each in published().values())


@cases(
    ({"link_": {"picojoules": 1, "technology": "t", "source": "s"}},
     "{path}: there is no figure 'link_'; did you mean 'link'? there are "
     "fp32_add, fp32_multiply, bf16_multiply, int8_multiply, int32_add, int32_multiply, lut_ram, block_ram, "
     "scratchpad, link, off_chip"),
    ({"link": {"picojoules": -1, "technology": "t", "source": "s"}},
     "{path}: $.figures.link.picojoules: -1 is less than the minimum of 0"),
    ({"link": {"picojoules": 1, "technology": "t"}}, "{path}: $.figures.link: 'source' is a required property"),
)  # fmt: skip
def test_bad_tables(data: object, message: str, tmp_path: Path) -> None:
    path = filed(tmp_path / "mine.json", json.dumps({"format": "step-energies-1", "figures": data}))
    assert raised(FormatError, lambda: figures(path)) == message.format(path=path)


def test_figures_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    mine = {"off_chip": {"picojoules": 0, "technology": "none", "source": "us"}}
    path.write_text(json.dumps({"format": "step-energies-1", "figures": mine}))
    found = step.metrics(product())
    assert found.energy_by(path).parts["off_chip"] == 0 < found.energy.parts["off_chip"]
