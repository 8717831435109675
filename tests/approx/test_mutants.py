"""Each of these mistakes in the compiled engine is found by the programs of `test_compiled`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
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

MUTANTS = [
    ("engine.hpp", "now < each.since + each.cycles", "now <= each.since + each.cycles"),
    ("engine.hpp", "open_from = now + cycles;", "open_from = now + cycles + 1;"),
    ("engine.hpp", "machine->change(FINISHED, now + 1);", "machine->change(FINISHED, now);"),
    ("engine.hpp", "has_last_ && last_ < now) end", "has_last_ && last_ <= now) end"),
    ("engine.hpp", "stopped() <= limit) end", "stopped() < limit) end"),
    ("engine.hpp", "is_quiet(limit) && stopped()", "stopped()"),
    ("engine.hpp", "return a->order < b->order;", "return a->order > b->order;"),
    ("engine.hpp", "counts[BUSY] += std::min<int64_t>(rest, 0);", ""),
    ("engine.hpp", "wake(machine, channel.open_from);", "wake(machine, channel.open_from + 1);"),
    ("engine.hpp", "seen - channel.deep - 1", "seen - 1"),
    ("engine.hpp", "std::max(seen, channel.at(channel.stored - 1).seen + 1)", "seen"),
    ("engine.hpp", "if (rows == sizes.rows || code) return;", "if (sizes.rows >= 0) return;"),
    ("engine.hpp", "channel.writer->latency + 1 + channel.deep", "channel.writer->latency + 1"),
    ("engine.hpp", "found = packed >> 32;", "found = 0;"),
    ("parts.hpp", "return std::max(freed_at + 1, head().seen);", "return head().seen;"),
    ("parts.hpp", "int32_t(stored) - (freed_at == now ? freed : 0)", "int32_t(stored)"),
    ("parts.hpp", "peak = std::max(peak, counted);", "peak = counted;"),
    ("parts.hpp", "return at(place).seen - deep;", "return at(place).seen;"),
    ("memory.hpp", "granted + 1, lowest = -1", "granted, lowest = -1"),
    ("memory.hpp", "granted + 1, word =", "granted, word ="),
    ("memory.hpp", "free_at = e.now + beat_interval;", "free_at = e.now + beat_interval - 1;"),
    ("memory.hpp", "if (each.writes && each.asks->readable", "if (each.asks->readable"),
    ("memory.hpp", "std::max(port.arrived + 1, arrival + latency)", "arrival + latency"),
    ("dram.hpp", "data_ends_[granted_ % dram_.queue] <= clock", "data_ends_[granted_ % dram_.queue] < clock"),
    ("dram.hpp", "begin + dram_.trfc", "begin + dram_.trfc + 1"),
    ("words.hpp", "channel.available() < since)", "channel.available() <= since)"),
    ("words.hpp", "c_.space(e.now) <= 0 || c_.is_closed(e.now)", "c_.space(e.now) <= 0"),
    ("tokens.hpp", "return word == other.word;", "return stop() == other.stop() && done() == other.done();"),
]


@pytest.mark.slow
@pytest.mark.parametrize("file, right, wrong", MUTANTS, ids=[each[1][:40] for each in MUTANTS])
def test_mutant(file: str, right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = tmp_path / "cpp"
    shutil.copytree(library.CPP, sources)
    text = (sources / file).read_text()
    assert text.count(right) == 1
    (sources / file).write_text(text.replace(right, wrong))
    monkeypatch.setattr(library, "CPP", sources)
    monkeypatch.setattr(library, "FLAGS", ("-std=c++17", "-O0", "-fPIC", "-shared"))
    monkeypatch.setenv("STEP_CACHE", str(tmp_path / "cache"))
    library._loaded.cache_clear()
    try:
        with pytest.raises(AssertionError):
            programs()
    finally:
        library._loaded.cache_clear()


def programs() -> None:
    """What the default tests run, the quickest to find something first."""
    test_a_read_that_nobody_waits_for()
    test_cut_off_in_every_cycle()
    for seed in range(50_000, 50_120):
        random_program(seed, 3 + seed % 14)
    for seed in range(40):
        engines(seed)
    test_what_takes_turns()
    test_long_waits(10)
    for scenario in SCENARIOS:
        run_scenario(scenario, "control")
