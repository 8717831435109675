"""Expert-choice routing and pages of block-sparse attention: what they compute, in the interpreter and in time."""

from __future__ import annotations

import numpy as np
from approx.same import both
from routed_by_indices import EXPERTS, attended, chosen_tokens, expert_choice, sparse_pages

from step import Graph, Program, interpret
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs
from step.running.result import Status


def values(program: Program, name: str) -> list[object]:
    return [each.value for each in interpret(program.graph, program.inputs).outputs[name] if each.has_value]


def test_every_expert_picks_its_tokens() -> None:
    graph = Graph("expert_choice")
    data = expert_choice(graph)
    program, (best, exact) = Program(graph, data), chosen_tokens(data)
    assert values(program, "chosen") == [sum(1 << int(at) for at in best[expert]) for expert in range(EXPERTS)]
    assert np.allclose(np.array(values(program, "y")), exact, rtol=1e-5, atol=1e-5)


def test_every_query_attends_to_its_pages() -> None:
    graph = Graph("sparse_pages")
    data = sparse_pages(graph)
    program = Program(graph, data)
    assert np.allclose(np.array(values(program, "y"))[:, 0], attended(data), atol=0.02)  # weights are rounded to BF16
    assert values(program, "pages") == [sum(1 << int(at) for at in row) for row in data["listed"]]


def test_both_engines_agree() -> None:
    for build in (expert_choice, sparse_pages):
        graph = Graph("timed")
        data = build(graph)
        netlist = lower(graph, Program(graph, data).fabric)
        assert both(netlist, bind_inputs(graph, data)) is Status.FINISHED
