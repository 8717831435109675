"""Each of these mistakes in the compiled engine is found by the programs of `test_compiled` or `test_jump`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import programs_of_one_kind
import pytest
import test_jump
from scenarios import SCENARIOS
from test_compiled import (
    random_program,
    run_scenario,
    test_a_read_that_nobody_waits_for,
    test_cut_off_in_every_cycle,
    test_long_waits,
    test_what_takes_turns,
)
from test_random_dynamic_tiles import engines

from sim_approx.compiled import library
from step.language.graph import Graph

MUTANTS = [
    ("engine.hpp", "now < each.since + each.cycles", "now <= each.since + each.cycles"),
    ("engine.hpp", "open_from = now + cycles;", "open_from = now + cycles + 1;"),
    ("engine.hpp", "change(*machine, FINISHED, now + 1);", "change(*machine, FINISHED, now);"),
    ("engine.hpp", "has_last_ && last_ < now) end", "has_last_ && last_ <= now) end"),
    ("engine.hpp", "stopped() <= limit) end", "stopped() < limit) end"),
    ("engine.hpp", "is_quiet(limit) && stopped()", "stopped()"),
    ("engine.hpp", "return a->order < b->order;", "return a->order > b->order;"),
    ("engine.hpp", "counts[BUSY] += std::min<int64_t>(rest, 0);", ""),
    ("engine.hpp", "wake(machine, channel.open_from);", "wake(machine, channel.open_from + 1);"),
    ("engine.hpp", "seen - lag - 1", "seen - 1"),
    ("engine.hpp", "std::max(channel.next_seen, now", "std::max(now, now"),
    ("engine.hpp", "if (rows == sizes.rows || code) return;", "if (sizes.rows >= 0) return;"),
    ("engine.hpp", "return seen + lag;", "return seen;"),
    ("engine.hpp", "found = packed >> 32;", "found = 0;"),
    ("parts.hpp", "return std::max(freed_at + 1, head().seen);", "return head().seen;"),
    ("parts.hpp", "int32_t(stored) - (freed_at == now ? freed : 0)", "int32_t(stored)"),
    ("parts.hpp", "peak = std::max(peak, counted);", "peak = counted;"),
    ("parts.hpp", "return at(place).seen - (wide ? at(place).lag : lag);", "return at(place).seen;"),
    ("memory.hpp", "granted + 1, lowest = -1", "granted, lowest = -1"),
    ("memory.hpp", "granted + 1, word =", "granted, word ="),
    ("memory.hpp", "free_at = e.now + beat_interval;", "free_at = e.now + beat_interval - 1;"),
    ("memory.hpp", "if (each.writes && each.asks->readable", "if (each.asks->readable"),
    ("memory.hpp", "std::max(port.arrived + 1, arrival + latency)", "arrival + latency"),
    ("memory.hpp", "out.push_back(port.beat);", "out.push_back(0);"),
    ("dram.hpp", "data_ends_[granted_ % dram_.queue] <= clock", "data_ends_[granted_ % dram_.queue] < clock"),
    ("dram.hpp", "begin + dram_.trfc", "begin + dram_.trfc + 1"),
    ("words.hpp", "channel.available() < since)", "channel.available() <= since)"),
    ("words.hpp", "c_.space(e.now) <= 0 || c_.is_closed(e.now)", "c_.space(e.now) <= 0"),
    ("tokens.hpp", "return word == other.word;", "return stop() == other.stop() && done() == other.done();"),
]

JUMPS = [
    ("jump.hpp", "e.now - begin_, most", "e.now - begin_ + 1, most"),
    ("jump.hpp", "(limit - 1 - e.now) / period", "(limit - 1 - e.now) / period + 1"),
    ("jump.hpp", "(found - 1) / more", "found / more"),
    ("engine.hpp", "if (each.due != NEVER && each.due > now)", "if (false)"),
    ("engine.hpp", "for (IntNotes& each : int_notes) state.appended(each.all);", ""),
    ("state.hpp", "state.count(machine.firings);", ""),
    ("state.hpp", "for (int64_t& cycles : machine.cycles_in) state.count(cycles);", ""),
    ("state.hpp", "state.due(machine.due);", ""),
    ("state.hpp", "state.time(machine.since);", ""),
    ("state.hpp", "for (int64_t word : words_) same(word);", ""),
    ("state.hpp", "state.time(channel.open_from);", ""),
    ("state.hpp", "channel.renumber(taken);", ""),
    ("state.hpp", "    state.time(slot.seen, moves);", ""),
    ("memory.hpp", "            state.time(each.free_at);\n", ""),
]
"""Of the jump over repetitions."""


@pytest.mark.slow
@pytest.mark.parametrize("file, right, wrong", MUTANTS, ids=[each[1][:40] for each in MUTANTS])
def test_mutant(file: str, right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError), mutated(file, right, wrong, tmp_path, monkeypatch):
        programs()


@pytest.mark.slow
@pytest.mark.parametrize("file, right, wrong", JUMPS, ids=[each[1].strip()[:40] for each in JUMPS])
def test_mutant_of_the_jump(file: str, right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError), mutated(file, right, wrong, tmp_path, monkeypatch):
        jumping_programs()


@contextmanager
def mutated(file: str, right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs meet an engine in which what is ``right`` in ``file`` is ``wrong``."""
    sources = tmp_path / "cpp"
    shutil.copytree(library.CPP, sources)
    text = (sources / file).read_text()
    assert text.count(right) == 1
    (sources / file).write_text(text.replace(right, wrong))
    monkeypatch.setattr(library, "CPP", sources)
    monkeypatch.setattr(library, "FLAGS", ("-std=c++17", "-O0", "-fPIC", "-shared"))
    monkeypatch.setenv("STEP_CACHE", str(tmp_path / "cache"))
    library.LOADED.clear()
    try:
        yield
    finally:
        library.LOADED.clear()


def programs() -> None:
    """What the default tests run, the quickest to find something first."""
    test_a_read_that_nobody_waits_for(Graph("g"))
    test_cut_off_in_every_cycle()
    for seed in range(50_000, 50_120):
        random_program(seed, 3 + seed % 14)
    for seed in range(40):
        engines(seed)
    test_what_takes_turns()
    test_long_waits(10)
    for scenario in SCENARIOS:
        run_scenario(scenario, "control")


def jumping_programs() -> None:
    """As `programs`, of those that repeat themselves."""
    for build in (programs_of_one_kind.compute, programs_of_one_kind.experts, programs_of_one_kind.memory):
        test_jump.test_regular_programs(build)
    test_jump.test_the_end_of_a_stream()
    test_jump.test_bursts(8, Graph("g"))
    test_jump.test_bursts(12, Graph("g"))
    test_jump.test_ways_over_tensors(range(30))
    for seeds in test_jump.blocks(70_000, 30, 3):
        test_jump.test_random_programs(seeds)
    test_jump.test_scenarios([*test_jump.FIRST.values()])
