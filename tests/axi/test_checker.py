"""The checker of a bus finds every rule that masters or memory break, and none where all is right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from boards import QUICKEST, RULES, Run, Wrapped
from broken_masters import BROKEN, MutantReads, MutantWrites

from step.language.dtypes import INT32
from step.language.graph import Graph
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig

MEMORY = {
    "id": "WRONG_ID",
    "last": "LAST",
    "twice": "UNASKED",
    **({"unknown": "UNKNOWN"} if QUICKEST == "icarus" else {}),
}
"""Rules that memory breaks; what is unknown shows in four-state simulation only."""


@dataclass(frozen=True)
class Mutated(Run):
    """``mutant`` of the masters, or rule that ``memory`` breaks."""

    mutant: int = 0
    memory: str = ""


class Unlawful(Wrapped):
    bench, lawful = "mutants_bench", False


def test_every_rule_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hw.axi.wrapper.ReadMaster", MutantReads)
    monkeypatch.setattr("hw.axi.wrapper.WriteMaster", MutantWrites)
    graph = Graph("copy")
    x = graph.tensor("x", (16, 16), INT32)
    graph.load(x, tile=(2, 8), name="load").store("y")
    fabric = FabricConfig(link_bytes=8, memory=MemoryConfig(beat_bytes=8))
    inputs = {"x": np.arange(256, dtype=np.int32).reshape(16, 16)}
    bus = BusConfig(bytes=16, burst=4, outstanding=2)
    board = Unlawful(graph, fabric, bus, tmp_path, inputs, simulator=QUICKEST)
    runs = [Mutated(pauses=0.5)]
    runs += [Mutated(mutant=each, pauses=0.5) for each in BROKEN]
    runs += [Mutated(memory=each, pauses=0.5) for each in MEMORY]
    whole, *others = board.play(*runs)
    assert whole["rules"] == [0] and whole["seen"][0] > 30
    wanted = [*BROKEN.values(), *MEMORY.values()]
    names = {number: name for name, number in RULES.items()}
    assert [names[each["rules"][0]] for each in others] == wanted
    assert {*wanted, "UNKNOWN"} == set(RULES)
