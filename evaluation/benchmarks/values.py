"""Cost of outputs: a run that computes all values, against a run of times alone and the interpreter behind it.

Usage: python -m benchmarks.values [tokens]

Values are the same. The columns are of this run, in seconds of processor time:

times     a run of the compiled engine that computes only what decides
all       one that calls back for every value
behind    `times`, and then the interpreter, which takes chunks in the order of that run
ratio     `behind` / `all`: how many times faster it is to call back
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.approx_speed import FABRIC, TARGETS, chain, experts
from step import BF16, Graph, Program, Simulator
from step.language.tokens import Token
from step.running.interpreter import interpret
from step.running.result import RunResult
from step_models import attention, moe, sampled_routing


def programs(tokens: int) -> dict[str, Program]:
    """Long chains of cheap functions, routing, and models."""
    random = np.random.default_rng(0)
    x = random.random(tokens).astype(BF16.numpy)
    which = random.permuted(np.tile(np.arange(TARGETS) < 2, (tokens, 1)), axis=1)
    chained, routed = Graph("chain"), Graph("experts")
    chain(chained)
    experts(routed)
    routing = sampled_routing(64, 8, 2)
    return {
        "chain": Program(chained, {"x": x}, FABRIC),
        "experts": Program(routed, {"x": x, "which": which}, FABRIC),
        "moe": moe.program(routing, experts=8),
        "moe, dynamic": moe.program(routing, experts=8, rows=None),
        "moe, by turns": moe.program(routing, experts=8, regions=4),
        "attention": attention.program(np.array([60, 30, 60, 10, 9, 0]), arrangement="dynamic", regions=2, heads=1),
    }


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the fastest of three runs, and what it gives."""
    found = []
    for _ in range(3):
        start = time.process_time()
        result = run()
        found.append(time.process_time() - start)
    return min(found), result


def texts(tokens: list[Token]) -> list[Any]:
    """Tokens as they can be compared."""
    return [(each.stop, each.rank, np.asarray(each.value).tobytes() if each.has_value else None) for each in tokens]


def fast(simulator: Simulator) -> RunResult:
    """A run of the fast model."""
    return simulator.run().result


def line(program: Program) -> str:
    """The columns of one program, whose outputs must be the same both ways."""
    (times, control), (everything, result) = (
        timed(partial(fast, Simulator(program, values=values, engine="compiled"))) for values in ("control", "all")
    )
    behind, meaning = timed(lambda: interpret(program.graph, program.inputs, arrivals=control.arrivals))
    assert all(texts(tokens) == texts(meaning.outputs[sink]) for sink, tokens in result.outputs.items())
    firings = sum(each.firings for each in result.operators.values())
    both = times + behind
    return f"{firings:9,} {times:8.3f} {everything:8.3f} {both:8.3f} {both / everything:6.1f}"


def main() -> None:
    """Print one line per program."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{'program':14} {'firings':>9} {'times':>8} {'all':>8} {'behind':>8} {'ratio':>6}")
    for name, program in programs(count).items():
        print(f"{name:14} {line(program)}")


if __name__ == "__main__":
    main()
