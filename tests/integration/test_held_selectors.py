"""Faults of a Reassemble, which has taken the selector that they tell of: the same text in every back end."""

from __future__ import annotations

import pytest
from everywhere import faults, text
from scenarios import BROKEN, FABRIC

from step.language.graph import Graph

TEXTS = {
    "reassemble-arrival-missing": (
        "a selector came without the data that it should route\n  token 2 of {selector} is a value"
    ),
    "reassemble-arrival-leftover": (
        "data is left over after the last selector\n"
        "  token 1 of {first} is Done\n  token 1 of {second} is a value\n  token 2 of {selector} is Done"
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_selector_that_was_taken_is_told_of(name: str, graph: Graph) -> None:
    (broken,) = (each for each in BROKEN if each.name == name)
    inputs = broken.build(graph)
    (node,) = (each for each in graph if each.operator.name == "reassemble")
    first, second, selector = map(str, node.inputs)
    told = TEXTS[name].format(first=first, second=second, selector=selector)
    faults(graph, inputs, FABRIC, text(f"{node.describe()}: {told}"))
