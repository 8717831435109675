"""Programs around every operator that there is."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from random import Random

from scenarios import Inputs, Scenario

import step.ops
from contract.draft import Draft
from step.language.graph import Graph

OPERATORS = sorted(each.name for each in pkgutil.iter_modules(step.ops.__path__))


def built(operator: str, number: Callable[[int, int], int], graph: Graph) -> Inputs:
    """Put a program around ``operator`` into ``graph``; ``number`` makes its choices."""
    draft = Draft(graph, number)
    importlib.import_module(f"contract.{operator}").contract(draft)
    return draft.inputs


def drawn(operator: str, seed: int) -> Scenario:
    """A program with random choices."""

    def build(graph: Graph) -> Inputs:
        return built(operator, Random(f"{operator} {seed}").randint, graph)

    graph = Graph("drawn")
    build(graph)
    by_arrival = any(node.operator.arrival_ports(len(node.inputs)) for node in graph)
    return Scenario(f"{operator}-{seed}", operator, build, ordered=not by_arrival)
