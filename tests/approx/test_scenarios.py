"""Every scenario: the outputs of the timed run are those of the interpreter."""

from __future__ import annotations

import pytest
from scenarios import FABRIC, SCENARIOS, Scenario, one_of

from sim_approx.backend import run
from step.language.tokens import Token
from step.running.interpreter import interpret
from step.running.result import RunResult, Status


def texts(outputs: dict[str, list[Token]]) -> dict[str, list[str]]:
    """The tokens as text, down to the last bit of their values."""
    return {name: [f"{token.value!r} S{token.stop}" for token in tokens] for name, tokens in outputs.items()}


def check_accounts(result: RunResult) -> None:
    """What holds of the counters of every run that finished."""
    for each in result.operators.values():
        assert each.busy + each.starved + each.blocked + each.finished == result.cycles
    for each in result.channels.values():
        assert each.peak <= each.capacity


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_outputs(scenario: Scenario) -> None:
    program = scenario.alone()
    result = run(program.graph, program.inputs, FABRIC, values="all")
    assert result.status == Status.FINISHED
    check_accounts(result)
    expected = interpret(program.graph, program.inputs, arrivals=result.arrivals)
    assert result.outputs is not None
    assert texts(result.outputs) == texts(expected.outputs)
    if scenario.ordered:
        assert texts(result.outputs) == texts(interpret(program.graph, program.inputs).outputs)


@pytest.mark.parametrize("scenario", one_of(5))
def test_values_do_not_change_times(scenario: Scenario) -> None:
    program = scenario.alone()
    slow = run(program.graph, program.inputs, FABRIC, values="all", events=True)
    fast = run(program.graph, program.inputs, FABRIC, events=True)
    assert fast.outputs is None
    assert fast.cycles == slow.cycles
    assert fast.operators == slow.operators
    assert fast.channels == slow.channels
    assert fast.events is not None and slow.events is not None
    for name, events in fast.events.items():
        assert events.cycles.tolist() == slow.events[name].cycles.tolist()
        assert events.control.tolist() == slow.events[name].control.tolist()
        assert events.leaves.tolist() == slow.events[name].leaves.tolist()
