"""Repetitions that are counted leave what repetitions leave that are gone through."""

from __future__ import annotations

import os
import re
import signal
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import programs_of_one_kind as programs
import pytest
from cases import cases
from regular import LONGEST, random_phases, repeated, timing_of, walks
from same import compare, left
from scenarios import SCENARIOS, Scenario

import step
from sim_approx import backend
from sim_approx.backend import Model, simulate
from sim_approx.running.model_run import EngineName, ModelRun
from step.errors import InputError
from step.functions.cast import Cast
from step.functions.matmul import Matmul
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.types import Selector, Tile
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.lowering.off_chip import MemoryConfig
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import bind_inputs
from step.programs.program import Program
from step.running.result import RunResult
from step_check.fuzz.program import for_graph

ENGINES: tuple[EngineName, ...] = ("compiled", "python")
TIMES = ("wall_seconds", "tokens_per_second", "jumped_cycles")


def blocks(first: int, size: int, count: int) -> list[range]:
    """Seeds from ``first`` on, in ``count`` blocks of a ``size``."""
    return [range(at, at + size) for at in range(first, first + size * count, size)]


def slowly(values: Iterable[Any]) -> list[Any]:
    """Cases that are left out unless slow tests run."""
    return [pytest.param(each, marks=pytest.mark.slow) for each in values]


def found(run: ModelRun) -> list[Any]:
    """All that is `left` of a run, and its result but how fast it came."""
    spaces = [each.space for each in run.fabric.all_channels]
    return [*left(run), spaces, {name: each for name, each in run.result().to_json().items() if name not in TIMES}]


def equal(prepared: Model, max_cycles: int | None = None, **options: Any) -> ModelRun:
    """Run with and without jumps, to the same end; returns the run with them."""
    one = prepared.run(max_cycles=max_cycles, **options)
    ours = found(one)
    other = prepared.run(max_cycles=max_cycles, jump=False, **options)
    for mine, theirs in zip(ours, found(other), strict=True):
        assert mine == theirs, (max_cycles, one.ending.jumped)
    assert other.ending.jumped == 0
    return one


def cut_off(prepared: Model, seed: int, times: int, **options: Any) -> ModelRun:
    """As `equal`, also cut off in some cycles; returns the whole run."""
    whole = equal(prepared, **options)
    if whole.ending.jumped:
        for _ in range(times):
            seed += 1
            equal(prepared, Random(seed).randint(1, whole.ending.cycles))
    return whole


def built(build: Any, count: int) -> Model:
    """A program with so many tokens."""
    graph = Graph(build.__name__)
    build(graph)
    netlist = lower(graph, programs.FABRIC)
    return Model(netlist, programs.bound(netlist, count), timing_of=programs.timing_of, engine="compiled")


@pytest.mark.parametrize("build", [programs.chain, programs.compute, programs.experts, programs.memory])
def test_regular_programs(build: Any) -> None:
    whole = cut_off(built(build, 4000), 1, 3)
    assert 2 * whole.ending.jumped > whole.ending.cycles


def test_every_cycle_of_a_jump() -> None:
    """Cut off in any cycle of a few repetitions, and in the last ones."""
    prepared = built(programs.compute, 600)
    whole = prepared.run().ending
    assert whole.jumped > 500
    for limit in (*range(2500, 2520), *range(whole.cycles - 20, whole.cycles + 2)):
        equal(prepared, limit)


def wide(length: int) -> Model:
    """So many tokens of eight words each, which come sooner than they are wanted."""
    graph = Graph("wide")
    graph.source("x", Tile(BF16, 1, 16), [graph.symbol("N")]).map(Cast(BF16)).sink("y")
    netlist = lower(graph, FabricConfig(link_bytes=4))
    data = bind_inputs(netlist.graph, {"x": np.broadcast_to(np.zeros((), BF16.numpy), (length, 1, 16))})
    return Model(netlist, data, timing_of=lambda *_: Timing(20, 3), engine="compiled")


def test_the_end_of_a_stream() -> None:
    """Its words are counted while it can not be sent, so no repetition may end in front of it."""
    lengths = range(300, 600)
    fewest = wide(lengths[0]).run().ending.jumped
    first = bisect_left(lengths, fewest + 1, key=lambda length: wide(length).run().ending.jumped)
    assert 0 < first < len(lengths)
    for length in lengths[first - 1 : first + 2]:
        equal(wide(length))


@pytest.mark.parametrize("rows", [8, 12, 15])
def test_bursts(rows: int, graph: Graph) -> None:
    """A result takes longer on its way out than what it was made of, and the next one has to wait for that."""
    n = graph.symbol("N")
    a = graph.source("a", Tile(BF16, 16, 1), [n, rows])
    b = graph.source("b", Tile(BF16, 1, 16), [n, rows])
    a.accum(Matmul(), b).sink("y")
    netlist = lower(graph, FabricConfig(link_bytes=4))
    shapes = {"a": (300, rows, 16, 1), "b": (300, rows, 1, 16)}
    zeros = {name: np.broadcast_to(np.zeros((), BF16.numpy), shape) for name, shape in shapes.items()}
    prepared = Model(netlist, bind_inputs(netlist.graph, zeros), engine="compiled")
    assert equal(prepared).ending.jumped > 0


def run_scenarios(scenarios: Sequence[Scenario]) -> Counter[str]:
    """Scenarios as they are, and with what they play again and again: how these end, and how many jump."""
    endings: Counter[str] = Counter()
    for scenario in scenarios:
        netlist, data = scenario.lowered()
        equal(Model(netlist, data, values="all", engine="compiled"))
        run = equal(Model(netlist, repeated(data, 100), engine="compiled"), LONGEST)
        endings[run.ending.status] += 1
        endings["jumped"] += run.ending.jumped > 0
    return endings


FIRST = {scenario.operator: scenario for scenario in reversed(SCENARIOS)}
"""One scenario of every operator."""


@pytest.mark.parametrize("scenarios", [[*FIRST.values()], *slowly(SCENARIOS[block::8] for block in range(8))])
def test_scenarios(scenarios: Sequence[Scenario]) -> None:
    endings = run_scenarios(scenarios)
    assert endings["jumped"] > 3, endings


def random_programs(seeds: range) -> Counter[str]:
    """Random programs, also cut off: how those end that jump, how many there are, and how many jump."""
    endings: Counter[str] = Counter()
    for seed in seeds:
        made = random_phases(seed)
        if made is None:
            continue
        program, netlist, data = made
        prepared = Model(netlist, data, timing_of=program.timing_of, engine="compiled")
        run = cut_off(prepared, seed, 2, max_cycles=LONGEST)
        endings["all"] += 1
        if run.ending.jumped:
            endings[run.ending.status] += 1
            endings["jumped"] += 1
    return endings


@pytest.mark.parametrize(
    "seeds", [*blocks(70_000, 30, 3), *slowly(blocks(71_000, 100, 20))], ids=lambda seeds: seeds.start
)
def test_random_programs(seeds: range) -> None:
    endings = random_programs(seeds)
    assert endings["jumped"] >= len(seeds) // 9, endings


def random_walks(seeds: range, *, on_buses: bool = False) -> Counter[str]:
    """As `random_programs`, of loads and stores, whose ports share buses where they are ``on_buses``."""
    endings: Counter[str] = Counter()
    for seed in seeds:
        netlist, data = walks(seed)
        if on_buses:
            netlist = sharing(netlist, Random(seed))
        prepared = Model(netlist, data, timing_of=timing_of, engine="compiled")
        run = cut_off(prepared, seed, 2, max_cycles=LONGEST // 4)
        endings["all"] += 1
        endings["jumped"] += run.ending.jumped > 0
    return endings


@pytest.mark.parametrize("seeds", [range(30), *slowly(blocks(1000, 50, 10))], ids=lambda seeds: seeds.start)
def test_ways_over_tensors(seeds: range) -> None:
    endings = random_walks(seeds)
    assert 4 * endings["jumped"] > endings["all"], endings


@cases((1, 1000), (2, 150), *[pytest.param(each, 1000, marks=pytest.mark.slow) for each in (2, 4)])
def test_ports_that_share_buses(masters: int, tokens: int) -> None:
    graph = Graph("memory")
    programs.memory(graph)
    netlist = lower(graph, FabricConfig(memory=MemoryConfig(bus=BusConfig(masters, bytes=32, outstanding=3))))
    data = programs.bound(netlist, tokens)
    prepared = Model(netlist, data, timing_of=programs.timing_of, engine="compiled")
    cut_off(prepared, masters, 3)
    run = prepared.run()
    assert run.ending.jumped > 1000
    if tokens < 1000:
        compare(run, simulate(netlist, data, timing_of=programs.timing_of, engine="python"))


def sharing(netlist: Netlist, random: Random) -> Netlist:
    """``netlist`` with ports that share random buses."""
    bus = BusConfig(
        random.randint(1, 4), random.choice([2, 8, 32]), random.choice([4, 16]), outstanding=random.randint(1, 5)
    )
    fabric = replace(netlist.fabric, memory=replace(netlist.fabric.memory, bus=bus))
    return lower(netlist.graph, for_graph(fabric, netlist.graph))


@pytest.mark.parametrize("seeds", [range(2000, 2016), *slowly(blocks(3000, 50, 10))], ids=lambda seeds: seeds.start)
def test_ways_over_buses(seeds: range) -> None:
    endings = random_walks(seeds, on_buses=True)
    assert 4 * endings["jumped"] > endings["all"], endings


@pytest.mark.parametrize("preset", ["hbm2", "ddr4"])
def test_dram_is_gone_through(preset: str) -> None:
    """Its rows and its refresh do not come again in step with the program."""
    for seed in range(3):
        netlist, data = walks(seed, MemoryConfig.preset(preset))
        prepared = Model(netlist, data, timing_of=timing_of, engine="compiled")
        assert equal(prepared, 20_000).ending.jumped == 0


def test_the_python_engine_says_the_same() -> None:
    for build in (programs.compute, programs.experts):
        graph = Graph(build.__name__)
        build(graph)
        netlist = lower(graph, FabricConfig())
        data = programs.bound(netlist, 4000 if build is programs.experts else 1500)
        runs = [simulate(netlist, data, timing_of=programs.timing_of, engine=each) for each in ENGINES]
        assert runs[0].ending.jumped > 0 == runs[1].ending.jumped
        compare(*runs)


def rows(count: int) -> Program:
    """``count`` rows that are scaled, of a stream without values that anybody wants."""
    graph = Graph("rows")
    x = graph.source("x", Tile(BF16), [graph.symbol("N"), 4])
    x.map(Cast(BF16), name="cast").sink("y")
    return Program(graph, {"x": np.arange(4 * count, dtype=np.float32).reshape(count, 4, 1, 1)})


def test_the_switch_and_the_result() -> None:
    program = rows(900)
    runs = [
        step.run(program, "approx"),
        step.run(program, "approx", jump=False),
        step.Simulator(program).run(),
        step.Simulator(program).run(jump=False),
        step.Simulator(program, jump=False).run(),
        step.Simulator(program, jump=False).run(jump=True),
        step.Simulator(program).attempt(jump=False),
        *step.Simulator(program).attempts([{}, {"jump": False}]),
        step.run(program, "approx", engine="python"),
        step.run(program, "approx", events=True),
        step.run(program, "approx", values="all"),
    ]
    jumped = [each.result.jumped_cycles > 1000 for each in runs]
    assert jumped == [True, False, True, False, False, True, False, True, False, False, False, False]
    assert {each.result.jumped_cycles for each in runs} == {0, runs[0].result.jumped_cycles}
    assert {each.cycles for each in runs} == {3604}
    loaded = RunResult.from_json(runs[0].result.to_json())
    assert loaded.jumped_cycles == runs[0].result.jumped_cycles < runs[0].cycles
    with pytest.raises(InputError, match=re.escape("jump has no effect on the back end interpret")):
        step.run(program, "interpret", jump=False)


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jump is a step of progress; who is told may end the run, and the next one is whole."""
    monkeypatch.setattr(backend, "SAID_AFTER", 0.0)
    prepared, told = built(programs.compute, 3000), list[str]()
    run = equal(prepared, progress=told.append)
    cycles = [int(re.match(r"cycle ([\d,]+), ", each)[1].replace(",", "")) for each in told]  # type: ignore[index]
    assert cycles and cycles == sorted(cycles) and cycles[-1] < run.ending.cycles

    def stop(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepared.run(progress=stop)
    assert found(prepared.run()) == found(run)


def test_an_interrupt_behind_a_jump() -> None:
    """Tokens come in step, and then one that would go on for a billion cycles."""
    graph = Graph("long")
    x = graph.source("x", Tile(BF16), [graph.symbol("N")])
    short, long = x.partition(graph.source("which", Selector(2), x.shape), targets=2)
    short.sink("y")
    long.repeat(1_000_000_000).sink("z")
    simulator = step.Simulator(Program(graph, {"x": [1] * 5001, "which": [[0]] * 5000 + [[1]]}))
    assert simulator.attempt(max_cycles=6000).result.jumped_cycles > 1000
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        simulator.run()
    timer.join()
