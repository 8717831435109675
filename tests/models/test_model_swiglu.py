"""SwiGLU in many sizes: outputs, traffic and operations; tiles that do not divide."""

from __future__ import annotations

from cases import cases
from raising import raised
from running_models import assert_runs, error_of

from step.errors import InputError
from step.lowering.fabric import FabricConfig
from step.programs.metrics import metrics
from step.running.interpreter import interpret
from step_models import swiglu


@cases(
    {},
    {"batch": 6, "hidden": 32, "inner": 48, "rows": 3, "columns": 8},
    {"batch": 1, "hidden": 16, "inner": 16, "rows": 1},
    {"hidden": 32, "inner": 32, "depth": 16},
    {"batch": 4, "hidden": 32, "inner": 32, "depth": 8, "columns": 32},
    ids=str,
)
def test_sizes(sizes: dict[str, int]) -> None:
    program = swiglu.program(**sizes)
    assert_runs(program)
    used = {"batch": 16, "hidden": 64, "inner": 64, "rows": 4, **sizes}
    batch, hidden, inner, rows = (used[each] for each in ("batch", "hidden", "inner", "rows"))
    # weights once per tile of rows, and a result in FP32
    wanted = 2 * batch * hidden + batch // rows * 3 * 2 * hidden * inner + 4 * batch * hidden
    assert int(metrics(program.graph, program.fabric).off_chip_bytes) == wanted


def test_whole_rows_of_weights_mean_the_same() -> None:
    """The order of a sum differs, so bits may; the error is as small."""
    split, whole = swiglu.program(depth=16), swiglu.program()
    assert len(whole.graph.nodes) < len(split.graph.nodes)
    assert (split.expected["output"] == whole.expected["output"]).all()
    shares = [error_of(each, interpret(each.graph, each.inputs).outputs) for each in (split, whole)]
    assert max(shares) < 0.5


def test_the_fabric_that_is_given_is_taken() -> None:
    given = FabricConfig(channel_depth=3)
    assert [swiglu.program(fabric=given, values=values).fabric for values in (True, False)] == [given, given]


def test_the_published_validation() -> None:
    """B = 64, D = 256, F = 512 in FP32 there: 4 (B D F/n + B/m 3 D F + B D) bytes. Here inputs are BF16, read once."""
    program = swiglu.program(64, 256, 512, rows=16, columns=64, values=False)
    assert program.expected == {}
    found = int(metrics(program.graph, program.fabric).off_chip_bytes)
    assert found == 2 * 64 * 256 + 64 // 16 * 3 * 2 * 256 * 512 + 4 * 64 * 256


@cases(
    ({"batch": 0}, "batch must be at least one row, not 0"),
    ({"batch": 10}, "rows, the rows of a tile, must divide batch = 10, but 4 does not"),
    ({"hidden": 0}, "hidden must be at least 1, not 0"),
    ({"rows": 2.0}, "program needs rows to be an integer, not 2.0"),
    ({"rows": 0}, "rows, the rows of a tile, must divide batch = 16, but 0 does not"),
    ({"depth": 24}, "depth, the extent of a weight tile along hidden, must divide hidden = 64, but 24 does not"),
    ({"columns": 48}, "columns, the extent of a weight tile along inner, must divide inner = 64, but 48 does not"),
)  # fmt: skip
def test_tiles_that_do_not_divide(sizes: dict[str, int], message: str) -> None:
    assert raised(InputError, lambda: swiglu.program(**sizes)) == message
