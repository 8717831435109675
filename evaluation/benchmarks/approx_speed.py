"""Speed of the fast back end's two engines: firings per second of one core, on five shapes of program.

Usage: python -m benchmarks.approx_speed [tokens [pairs]]

The compiled engine is ready before it is timed. The columns are of this run, firings per second of:

python    a run of the Python engine
whole     a run of the compiled engine from the netlist on: the fabric is made, and packed as numbers
engine    further runs of the same `Model`, whose packed form is there: the engine alone, through every repetition
times     how many times as fast as the Python engine that engine was
jumped    the percentage of the cycles that the engine jumps over where it may, in runs that take turns with those
jump      how many times as fast it was then, the median of so many pairs of runs; below 1 it was in vain
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from random import Random
from statistics import median

from sim_approx.backend import Model, simulate
from step.functions.cast import Cast
from step.functions.elementwise import Add
from step.functions.matmul import Matmul
from step.functions.retile import RetileRow
from step.functions.silu import Silu
from step.language.dtypes import BF16
from step.language.function import Function
from step.language.graph import Graph, Node
from step.language.tokens import DONE, UNKNOWN, Token
from step.language.types import Selector, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.lowering.off_chip import MemoryConfig
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import BoundInputs

SCALAR = Tile(BF16)
SIZE, TARGETS, MANY_TARGETS = 16, 16, 100
FABRIC = FabricConfig(memory=MemoryConfig(channels=32))


def chain(graph: Graph) -> None:
    """100 units in a row, a token a cycle: the least work per firing."""
    x = graph.source("x", SCALAR, [graph.symbol("N")])
    for _ in range(100):
        x = x.map(Cast(BF16))
    x.sink("y")


def compute(graph: Graph) -> None:
    """Maps with long intervals: units wait most of the time."""
    x = graph.source("x", SCALAR, [graph.symbol("N")])
    for _ in range(20):
        x = x.map(Add(), x)
    x.sink("y")


def experts(graph: Graph) -> None:
    """Routing to 16 experts and back, in order of arrival."""
    x = graph.source("x", SCALAR, [graph.symbol("N")])
    which = graph.source("which", Selector(TARGETS), x.shape)
    outputs = []
    for part in x.partition(which, targets=TARGETS):
        repeated = part.repeat(4)
        outputs.append(repeated.map(Add(), repeated).accum(RetileRow()))
    graph.reassemble(outputs, which).sink("y")


def memory(graph: Graph) -> None:
    """8 loads and 8 stores that share the memory, 8 beats a tile."""
    for port in range(8):
        table = graph.tensor(f"t{port}", (16, 1 << 16), BF16)
        x = graph.source(f"x{port}", SCALAR, [graph.symbol(f"N{port}")])
        graph.load(table, tile=(16, 16), out=(1,), reference=x).store(f"y{port}")


def mixture(graph: Graph) -> None:
    """1,000 units: every row goes to two of 100 experts, which read two weights each through 32 channels of memory."""
    x = graph.source("x", Tile(BF16, 1, SIZE), [graph.symbol("N")])
    which = graph.source("which", Selector(MANY_TARGETS), x.shape)
    results = []
    for number, rows in enumerate(x.partition(which, targets=MANY_TARGETS)):
        rows = rows.buffered(16)
        tables = [graph.tensor(f"w{number}_{layer}", (SIZE, 2 * SIZE), BF16) for layer in range(2)]
        up, down = (graph.load(table, tile=(SIZE, SIZE), out=(2,), reference=rows) for table in tables)
        hidden = rows.repeat(2).map(Matmul(out=BF16), up).map(Silu())
        results.append(hidden.map(Cast(BF16)).accum(Matmul(), down).map(Cast(BF16)).buffered(16))
    graph.reassemble(results, which.buffered(64)).sink("y")


def timing_of(node: Node, function: Function, reduce: bool) -> Timing:
    """An addition and a product take eight cycles, all else one."""
    return Timing(8, 9) if isinstance(function, Add | Matmul) else Timing(1, 0)


def selector(number: int, targets: int) -> int:
    """One of a few targets, or two of many."""
    first = number * number % targets
    return 1 << first | (1 << (first + 29) % targets if targets > TARGETS else 0)


def anywhere(number: int, targets: int) -> int:
    """A target that nothing tells: no routing comes again."""
    return 1 << Random(number).randrange(targets)


def bound(netlist: Netlist, count: int, select: Callable[[int, int], int] = selector) -> BoundInputs:
    """``count`` tokens for every source; those that route are as ``select`` says."""
    streams = {node.name: [*[Token(UNKNOWN)] * count, DONE] for node in netlist.graph if node.operator.name == "source"}
    if "which" in streams:
        element = netlist.graph.nodes["which"].output_types[0].element
        assert isinstance(element, Selector)
        streams["which"] = [*[Token(select(number, element.targets)) for number in range(count)], DONE]
    return BoundInputs({}, streams)


PROGRAMS = (
    (chain, selector), (compute, selector), (memory, selector), (experts, selector), (mixture, selector),
    (experts, anywhere), (mixture, anywhere),
)  # fmt: skip


def main() -> None:
    """Print one line per program, those last that are routed at random."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    columns = f"{'python':>9} {'whole':>11} {'engine':>11} {'times':>6} {'jumped':>6} {'jump':>7}"
    print(f"{'program':8} {'units':>5} {'cycles':>9} {'firings':>9} {columns}")
    for build, select in PROGRAMS:
        graph = Graph(build.__name__)
        build(graph)
        netlist = lower(graph, FABRIC if build is mixture else FabricConfig())
        data = bound(netlist, count, select)
        simulate(netlist, bound(netlist, 1), timing_of=timing_of, engine="compiled")
        slow = simulate(netlist, data, timing_of=timing_of, engine="python")
        firings = sum(slow.ending.firings.values())
        model = Model(netlist, data, timing_of=timing_of, engine="compiled")
        start = time.perf_counter()
        model.run(jump=False).result()
        whole = time.perf_counter() - start
        runs = [[model.run(jump=jump).result() for jump in (False, True)] for _ in range(pairs)]
        jump = median(through.wall_seconds / over.wall_seconds for through, over in runs)
        through = min(each.wall_seconds for each, _ in runs)
        result, python, engine = runs[0][1], firings / slow.seconds, firings / through
        print(
            f"{build.__name__:8} {len(netlist.units):5} {result.cycles:9,} {firings:9,} {python:9,.0f} "
            f"{firings / whole:11,.0f} {engine:11,.0f} {engine / python:6.1f} "
            f"{result.jumped_cycles / result.cycles:6.0%} {jump:7.2f}"
        )


if __name__ == "__main__":
    main()
