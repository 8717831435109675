"""Whom an operator waits for, as `step run` tells it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_approx.backend import run
from step.functions import Add, Matmul
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.running.waiting import OFF_CHIP, awaited

SLOW = FabricConfig(matmul_lanes=1)


def waits(graph: Graph, **inputs: Any) -> dict[str, str]:
    netlist = lower(graph, SLOW)
    return awaited(netlist, run(netlist, inputs))


def test_all_wait_for_the_one_that_is_slow(graph: Graph) -> None:
    """In front of it they are blocked, behind it they starve; it waits for what starts it, and only at the start."""
    x, w = (graph.source(name, Tile(BF16, 8, 8), [9]) for name in "xw")
    x.map(Add(), w, name="fast").map(Matmul(), w, name="product").promote(name="behind").sink("y")
    assert waits(graph, x=np.zeros((9, 8, 8)), w=np.zeros((9, 8, 8))) == {
        "x": "fast", "w": "w_broadcast", "w_broadcast": "product", "fast": "w_broadcast", "product": "fast",
        "behind": "product", "y": "behind",
    }  # fmt: skip


def test_of_two_producers_it_is_the_late_one(graph: Graph) -> None:
    x, y = (graph.source(name, Tile(BF16, 8, 8), [6]) for name in "xy")
    slow = x.map(Matmul(), x.promote(name="up").flatten(0, 1, name="down"), name="slow")
    for left, right, name in ((slow, y, "first"), (y, slow, "second")):
        left.map(Add(), right, name=name).sink(f"to_{name}")
    found = waits(graph, x=np.zeros((6, 8, 8)), y=np.zeros((6, 8, 8)))
    assert found["first"] == found["second"] == "slow_broadcast"
    assert found["slow_broadcast"] == "slow"


def test_of_two_consumers_it_is_the_slow_one(graph: Graph) -> None:
    x, w = (graph.source(name, Tile(BF16, 8, 8), [6]) for name in "xw")
    x.promote(name="fast").sink("a")
    x.map(Matmul(), w, name="slow").sink("b")
    assert waits(graph, x=np.zeros((6, 8, 8)), w=np.zeros((6, 8, 8)))["x_broadcast"] == "slow"


def test_a_load_waits_for_memory_and_nobody_waits_who_never_did() -> None:
    graph = Graph("load")
    graph.load(graph.tensor("t", (8, 8), BF16), tile=(8, 8), name="load").sink("y")
    assert waits(graph, t=np.zeros((8, 8))) == {"load": OFF_CHIP, "y": "load"}
    empty = Graph("never")
    empty.source("x", Tile(BF16), [1]).sink("y")
    assert "x" not in waits(empty, x=[1.0])
