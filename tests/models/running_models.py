"""A workload on interpreter and fast model: the same outputs, which are close to float64."""

from __future__ import annotations

import numpy as np

from sim_approx import backend as approx
from step.language.tokens import Token
from step.language.validate import check
from step.programs.program import Program
from step.running.interpreter import interpret
from step.running.result import RunResult


def array(tokens: list[Token]) -> np.ndarray:
    """All tiles of an output, one below the other, in float64."""
    return np.concatenate([token.value.astype(np.float64) for token in tokens if token.has_value])


def error_of(program: Program, outputs: dict[str, list[Token]]) -> float:
    """The largest difference from what is expected, as a share of what the program tolerates."""
    assert program.expected and set(program.expected) <= set(outputs)
    assert 0 < program.tolerance < 0.05
    shares = []
    for name, expected in program.expected.items():
        found = array(outputs[name])
        assert found.shape == expected.shape
        shares.append(np.abs(found - expected).max() / (program.tolerance * np.abs(expected).max()))
    return float(max(shares))


def assert_runs(program: Program) -> RunResult:
    """No warning, the outputs of both back ends equal bit for bit, and within the tolerance that the program states."""
    assert check(program.graph) == []
    result = approx.run(program.graph, program.inputs, program.fabric, values="all")
    meaning = interpret(program.graph, program.inputs, arrivals=result.arrivals).outputs
    assert result.outputs is not None
    for name in program.expected:
        got, wanted = (
            [token.value.tobytes() for token in outputs[name] if token.has_value]
            for outputs in (result.outputs, meaning)
        )
        assert got == wanted
    assert error_of(program, meaning) <= 1
    return result
