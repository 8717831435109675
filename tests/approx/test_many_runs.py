"""Programs that are made ready once and run many times: every run is as if it were the first one."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from random_graphs import built
from same import compare
from scenarios import SCENARIOS
from test_deadlock import fork_join

import step
from sim_approx.backend import Model, run, simulate
from step.errors import Deadlock, EnvironmentProblem, FabricError, InputError, Runaway
from step.functions.cast import Cast
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.program import Program
from step.running.result import RunResult, Status

LONGEST = 5000
STREAM = [[1, 2, 3, 4, 5], [1, 2]]


def plain(result: RunResult) -> dict[str, Any]:
    """All of a result but how fast it came."""
    return {name: each for name, each in result.to_json().items() if name not in ("wall_seconds", "tokens_per_second")}


def copies() -> Program:
    """A stream that is loaded, stored, and goes through memory."""
    graph = Graph("copies")
    table = graph.tensor("t", (16, 64), BF16)
    read = graph.load(table, tile=(4, 4), reference=graph.source("x", Tile(BF16), [graph.symbol("N")]))
    read.map(Cast(BF16), name="cast").store("y")
    return Program(graph, {"t": [[n + m for n in range(64)] for m in range(16)], "x": [1, 2]})


@pytest.mark.parametrize("block", range(2))
def test_random_programs(block: int) -> None:
    """Other depths and another memory, then those of the first run again."""
    compared = 0
    for seed in range(90_000 + block * 12, 90_000 + (block + 1) * 12):
        random, program = Random(seed), built(seed, 3 + seed % 14)
        if program is None:
            continue
        memory = replace(program.fabric.memory, dram=None)
        netlist, data = lower(program.graph, replace(program.fabric, memory=memory)), program.bound()
        prepared = Model(netlist, data, timing_of=program.timing_of)
        depths = {each.name: random.randint(2, 40) for each in netlist.channels if random.random() < 0.3}
        other = replace(memory, channels=random.choice([1, 4, 32]), latency=random.randint(1, 60), interleave=4)
        for changed in ({}, {"depths": depths, "memory": other}, {"depths": depths, "memory": memory}, {}):
            runs = netlist.with_depths(depths).with_memory(changed["memory"]) if changed else netlist
            compiled = prepared.run(**changed, events=True, max_cycles=LONGEST)
            compare(
                compiled,
                simulate(runs, data, events=True, timing_of=program.timing_of, max_cycles=LONGEST, engine="python"),
            )
            compared += 1
    assert compared >= 24


def test_values_of_every_run() -> None:
    """What was stored is forgotten, and outputs are those of one run."""
    for number, scenario in enumerate(SCENARIOS):
        if number % 10 and not scenario.operator.endswith("store"):
            continue
        netlist, data = scenario.lowered()
        prepared = Model(netlist, data, values="all")
        first = prepared.run().result()
        compare(prepared.run(events=True), simulate(netlist, data, values="all", events=True, engine="python"))
        assert plain(prepared.run().result()) == plain(first)


@pytest.mark.parametrize("engine", [None, "python"])
def test_changes(engine: str | None) -> None:
    """Data, depths and memory of one run are not those of the next one."""
    program = copies()
    simulator = step.Simulator(program, engine=engine)
    first = simulator.run()
    other = replace(program, inputs={**program.inputs, "x": [1] * 9})
    slow = MemoryConfig(channels=2, latency=100)
    dram, wide = MemoryConfig.preset("hbm2"), MemoryConfig(beat_bytes=16)
    assert simulator.run(other.inputs).cycles == step.run(other, "approx", engine=engine).cycles > first.cycles
    for memory in (slow, dram, wide, MemoryConfig(channels=128)):
        alone = step.run(program, "approx", fabric=FabricConfig(memory=memory))
        again = simulator.run(memory=memory)
        assert (again.cycles, again.program.fabric.memory) == (alone.cycles, memory)
    assert simulator.run(depths={"cast": 9}).result.channels["cast"].capacity > first.result.channels["cast"].capacity
    assert plain(simulator.run().result) == plain(first.result)


def test_outputs() -> None:
    simulator = step.Simulator(copies(), values="all")
    for _ in range(2):
        assert simulator.run().outputs["y"].numpy().ravel()[:4].tolist() == [0, 1, 2, 3]
    changed = simulator.run({**copies().inputs, "t": [[1] * 64] * 16})
    assert set(changed.outputs["y"].numpy().ravel().tolist()) == {1}


def test_failing_runs() -> None:
    """They raise what a run raises, or are results; the next run is not touched."""
    program = Program(fork_join(), {"x": STREAM})
    simulator = step.Simulator(program)
    with pytest.raises(Deadlock) as alone:
        run(program.graph, program.inputs)
    for _ in range(2):
        with pytest.raises(Deadlock) as caught:
            simulator.run()
        assert str(caught.value) == str(alone.value)
        assert caught.value.result is not None and alone.value.result is not None
        assert plain(caught.value.result) == plain(alone.value.result)
        assert simulator.run(depths={"x_broadcast.1": 5}).result.status == Status.FINISHED
    attempt = simulator.attempt().result
    assert (attempt.status, attempt.cycles, attempt.error) == (
        Status.DEADLOCK,
        alone.value.result.cycles,
        f"nothing moves any more from cycle {attempt.cycles} on",
    )
    assert simulator.attempt(max_cycles=3).result.error == (
        "the run did not end within 3 cycles; raise max_cycles if that is too few"
    )
    with pytest.raises(FabricError, match=r"^there is no channel 'z'; there are one, one_chunks, "):
        simulator.run(depths={"z": 3})
    with pytest.raises(InputError, match=r"^the program has no tensor or source 'z'; it has x$"):
        simulator.run({"x": STREAM, "z": 1})


def test_threads() -> None:
    """They run at once, and the answers come in the order of the questions."""
    simulator = step.Simulator(Program(fork_join(), {"x": STREAM}))
    depths = [2, 9, 3, 5, 4, 6] * 4
    runs = simulator.attempts([{"depths": {"x_broadcast.1": depth}} for depth in depths], threads=4)
    assert [each.result.status == Status.FINISHED for each in runs] == [depth >= 5 for depth in depths]


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_progress(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long runs say how far they are; who is told may end them, and the next run begins anew."""
    for what, value in (("backend.SAID_AFTER", 0), ("compiled.engine.SLICE", 20), ("engine.events.BETWEEN", 4)):
        monkeypatch.setattr(f"sim_approx.{what}", value)
    program = Program(fork_join(9), {"x": STREAM * 20})
    lines: list[str] = []
    first = step.run(program, "approx", engine=engine, progress=lines.append)
    found = [re.fullmatch(r"cycle ([\d,]+), ([\d,]+) tokens/s", line) for line in lines]
    cycles = [int(each[1].replace(",", "")) for each in found if each]
    assert len(cycles) == len(lines) > 10 and sorted(set(cycles)) == cycles and cycles[-1] < first.cycles
    simulator = step.Simulator(program, engine=engine)

    def stop(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulator.run(progress=stop)
    assert plain(simulator.run().result) == plain(first.result)


def test_nobody_waits_for_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that nobody wants any more end soon."""
    monkeypatch.setattr("sim_approx.backend.SAID_AFTER", 0)
    endless = Graph("endless")
    endless.source("x", Tile(BF16), [endless.symbol("N")]).sink("y")
    tokens = np.broadcast_to(np.zeros((), BF16.numpy), (10**12, 1, 1))
    simulator = step.Simulator(Program(endless, {"x": tokens}))
    runs = simulator.attempts([{"max_cycles": 5}, {}, {}], threads=2)
    assert next(runs).result.status == Status.RUNAWAY
    runs.close()


def test_too_large_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be kept of a run is known before it."""
    monkeypatch.setattr("step.host.memory.free_bytes", lambda: 200_000_000)
    graph = Graph("large")
    graph.source("x", Tile(BF16, 2, 2), [graph.symbol("N"), 10]).map(Cast(BF16)).sink("y")
    tokens = np.broadcast_to(np.zeros((), BF16.numpy), (10**5, 10, 2, 2))
    with pytest.raises(EnvironmentProblem) as caught:
        run(graph, {"x": tokens}, values="all")
    assert str(caught.value) == (
        "this run would keep the values of 2,000,000 tokens, which takes at least 0.6 GB of memory, and 0.2 GB are "
        'free; values="control" keeps none of them'
    )
    with pytest.raises(EnvironmentProblem) as caught:
        run(graph, {"x": tokens}, events=True)
    assert str(caught.value) == (
        "this run would keep the cycles of 2,000,000 tokens, which takes at least 0.3 GB of memory, and 0.2 GB are "
        "free; a run without events keeps none of them"
    )
    with pytest.raises(Runaway):
        run(graph, {"x": tokens}, max_cycles=9, events=True, values="all")
