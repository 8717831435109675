"""Random attacks on boards (`attack_bench`): runs that resets of all kinds end, each before one that must be right."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from registered import DATA, DONE, Registered, Started, kept_board
from streamed import LIES, InMemory, Streamed

from step.lowering.bus import BusConfig
from step.programs.program import Program, load_program

BLOWS = ("reset", "reset", "start", "both", "pin")
EXAMPLES = {"moe": "moe_simple.py:small", "attention": "attention.py:small"}
PERIODS = {"fast": 4, "slow": 26}
"""Of the clock of the bus, in ns, where it is another one."""
BOARDS = ("kept", "streamed", *EXAMPLES, *PERIODS)


@dataclass(frozen=True)
class Blows(Started):
    """``blows``: each with the cycles since the one before. ``restarts``: a whole run follows at once."""

    blows: tuple[tuple[int, str], ...] = field(default=())
    restarts: bool = False


def attacked_board(name: str, directory: Path) -> Registered:
    """One of `BOARDS`, on Verilator: both kinds of `registered` and `streamed`, or an example with three batches."""
    if name == "streamed":
        made: Registered = Streamed(directory, "verilator")
    elif name in EXAMPLES:
        program = load_program(f"examples/{EXAMPLES[name]}")
        bus = BusConfig(masters=2, bytes=program.fabric.memory.beat_bytes, burst=4)
        inputs = [_other(program, seed) for seed in range(3)]
        made = InMemory(program.graph, program.fabric, bus, directory, *inputs, simulator="verilator")
    else:
        made = kept_board(directory, "verilator", PERIODS.get(name))
    made.bench = "attack_bench"
    return made


def _other(program: Program, seed: int) -> dict[str, Any]:
    """The data of an example with other numbers, routes and lengths of caches."""
    random, given = np.random.default_rng(seed), dict(program.inputs)
    for name, each in given.items():
        if name == "routing":
            given[name] = random.integers(0, 2, each.shape)
        elif name == "length":
            given[name] = random.integers(0, each.max() + 1, each.shape)
        else:
            given[name] = random.standard_normal(each.shape).astype(each.dtype)
    return given


def attacks(board: Registered, seed: int, count: int, longest: int) -> list[Blows]:
    """So many runs that are attacked within ``longest`` cycles, each before a whole one."""
    random, runs = Random(seed), list[Blows]()
    lies = LIES if isinstance(board, Streamed) else {}
    data = [each for each in range(min(len(board.inputs), DATA)) if each not in lies]
    images = [{each.image for each in board.board.ports if each.writes == writes} for writes in (False, True)]
    in_place = bool(images[0] & images[1])  # what a read that failed leaves there, a restart has as its data
    for at in range(count):
        latency, pauses = random.choice([0, 1, 5, 30, 90]), random.choice([0, 0.2, 0.5, 0.8])
        places = [random.randrange(random.choice([3, 12, longest])) for _ in range(random.choice([1, 1, 2, 3]))]
        blows = tuple((place, random.choice(BLOWS)) for place in [random.randrange(longest), *places])
        errors = {random.choice(["read", "write"]): random.randrange(20)} if random.random() < 0.3 else {}
        restarts = random.random() < 0.5
        if restarts and in_place:
            errors = {}
        limited = [each.name for each in board.board.images if each.limited and random.random() < 0.2]
        limits = {name: random.randrange(board.sizes[name]) // 4 for name in limited if not restarts}
        attack = Blows(
            random.choice(data), random.randrange(1 << 20), latency, pauses, errors, blows=blows, limits=limits,
            restarts=restarts,
        )  # fmt: skip
        runs += [attack, Blows(random.choice(data), at, latency, pauses)]
    return runs


def check(board: Registered, runs: list[Blows], *, deaf: bool = False) -> None:
    """Memory is kept in all runs, and whole ones are right."""
    for run, played in zip(runs, board.play(*runs, deaf=deaf), strict=True):
        assert board.keeps(run, played), f"{run} writes elsewhere"
        if not run.blows or run.restarts:
            assert played["told"] == DONE, f"{run} does not end"
            board.check(run, played)
