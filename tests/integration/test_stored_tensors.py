"""Tensors that are stored and read in one program, and addresses that they do not have, in all back ends."""

from __future__ import annotations

import cached
import numpy as np
import pytest
from everywhere import TIMED, faults, same

from cosim.comparing.compare import compare
from step.running.interpreter import interpret


def test_what_was_stored_is_read_and_left() -> None:
    program = cached.program()
    runs = [interpret(program.graph, cached.GOOD)]
    runs += [TIMED["approx"](program.graph, cached.GOOD, program.fabric, values="all")]
    runs += [TIMED["rtl"](program.graph, cached.GOOD, program.fabric)]
    for run in runs:
        found = {name: [token.value.tolist() for token in tokens] for name, tokens in run.outputs.items()}
        stops = {name: [token.stop for token in tokens] for name, tokens in run.outputs.items()}
        assert found["cached"] == [[[each] * 4] for each in (7, 8, 9)]
        assert np.array_equal(found["entries"], np.arange(24).reshape(3, 2, 4)[[2, 0, 1]])
        assert found["cache"] == [[[8] * 4], [[9] * 4], [[8, 9, 10, 11]], [[7] * 4]]
        assert stops == {"cached": [0, 1, 1], "entries": [0, 0, 0], "cache": [0, 1, 0, 1]}
    assert runs[1].cycles == runs[2].cycles


def test_a_stored_tensor_is_compared_with_what_is_expected() -> None:
    """The tensor as it is declared, however it is cut."""
    program = cached.program()
    expected = np.array([[8] * 4 + [9] * 4, [8, 9, 10, 11] + [7] * 4])
    for wanted, passed in ((expected, True), (expected.T, False)):
        program.expected = {"cache": wanted}
        found = compare(program, optimize=False)
        assert (found.deviation == 0, found.passed, found.mismatches) == (passed, passed, 0)


HERE = "(cached.py:LINE)"
FAULTS = {
    "store": (cached.BEYOND_THE_CACHE,
        f"random_off_chip_store 'kept' {HERE}: an address is out of range: tensor 'cache' has the tiles 0 to 3\n"
        "  token 2 of places_broadcast.0 is 4 with S1"),
    "load": (cached.BEYOND_THE_TABLE,
        f"random_off_chip_load 'found' {HERE}: an address is out of range: tensor 'table' has the tiles 0 to 2\n"
        "  token 2 of which is 3"),
    "shape": (cached.OTHER_SHAPE,
        f"random_off_chip_store 'kept' {HERE}: its inputs do not have the same shape\n"
        "  token 0 of places_broadcast.0 is a value with S1\n"
        "  token 0 of rows is a value"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_the_same_errors_in_all_back_ends(case: str) -> None:
    data, wanted = FAULTS[case]
    program = cached.program()
    approximate, exact = faults(program.graph, data, program.fabric, wanted)
    same(approximate, exact)
    assert approximate.traffic == exact.traffic and {"kept", "found"} <= exact.traffic.keys()
