"""Faults of a Reassemble, which has taken the selector that they tell of: the same text in every back end."""

from __future__ import annotations

import re

import pytest
from scenarios import BROKEN, FABRIC

from cosim import backend as rtl
from sim_approx import backend as approx
from step.errors import StreamFault
from step.language.graph import Graph
from step.running.interpreter import interpret

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
def test_the_selector_that_was_taken_is_told_of(name: str) -> None:
    (broken,) = (each for each in BROKEN if each.name == name)
    told = []
    for run in (
        interpret,
        lambda *given: approx.run(*given, FABRIC),
        lambda *given: rtl.run(*given, FABRIC, optimize=False),
    ):
        graph = Graph("broken")
        inputs = broken.build(graph)
        with pytest.raises(StreamFault) as found:
            run(graph, inputs)
        (node,) = (each for each in graph if each.operator.name == "reassemble")
        told.append(re.sub(r"^.*?\): ", "", str(found.value)))
    first, second, selector = map(str, node.inputs)
    assert told == 3 * [TEXTS[name].format(first=first, second=second, selector=selector)]
