"""Written Verilog against Amaranth's RTLIL: Yosys proves each output, register and row of a memory equal.

Inputs are anything. Registers have equal names, so a step of induction does; values at power-on are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from equivalence import Texts
from scenarios import SCENARIOS, Scenario
from test_written import Chosen, Counting, Crossed

import step
from hw.axi.wrapper import wrapped
from hw.fabric import elaborate
from hw.registers.run_control import RunControl
from hw.verilog.expressions import BINARY
from hw.verilog.structure import Written
from step.lowering.board import board_of
from step.lowering.bus import BusConfig
from step.programs.prepare import prepare

EXAMPLES = Path(step.__file__).parents[1] / "examples"

ONE_OF_EACH = list({scenario.operator: scenario for scenario in SCENARIOS}.values())

MOST = 30_000
"""Characters of RTLIL of a module that is proved in the default suite."""


def texts_of(scenarios: Iterable[Scenario]) -> Texts:
    texts = Texts()
    for scenario in scenarios:
        for each in elaborate(scenario.lowered()[0], probes=False).structure.instances:
            texts.add(each.component)
    texts.add_children()
    return texts


def test_modules_are_what_amaranth_converts() -> None:
    """The smallest of each kind that scenarios of a third of the operators have: units, functions, memories, links."""
    texts = texts_of(ONE_OF_EACH[::3])
    smallest = dict[str, str]()
    for name in sorted(texts.rtlil, key=lambda each: -len(texts.rtlil[each])):
        smallest[re.split(r"_?\d", name)[0]] = name
    chosen = [name for name in smallest.values() if len(texts.rtlil[name]) < MOST]
    assert len(chosen) >= 25
    assert texts.refuted(chosen) == {}


MEMORY_BITS = 1_000
"""Bits of the memories of a module that is proved: each is a register there."""


@cache
def texts_of_all() -> Texts:
    return texts_of(SCENARIOS)


def proofs_end(rtlil: str) -> bool:
    """Whether proofs of a module end in seconds: those of products and of large memories do not."""
    memories = re.findall(r"^  memory width (\d+) size (\d+)", rtlil, re.MULTILINE)
    return "cell $mul" not in rtlil and sum(int(width) * int(size) for width, size in memories) <= MEMORY_BITS


@pytest.mark.large
@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_modules_of_all_scenarios_are(part: int) -> None:
    """Most modules; in the others are products and larger memories, whose values and cycles other tests compare."""
    texts = texts_of_all()
    chosen = [name for name, rtlil in sorted(texts.rtlil.items()) if proofs_end(rtlil)]
    assert len(chosen) > 0.85 * len(texts.rtlil)
    assert texts.refuted(chosen[part::16]) == {}


@pytest.mark.parametrize("example", ["moe_simple.py:small", "softmax.py"])
def test_modules_of_boards_are(example: str) -> None:
    """Masters, DMA, and what tells of runs; one of the programs has no sinks, whose ends are an AND of none."""
    netlist, texts = prepare(f"{EXAMPLES}/{example}").netlist, Texts()
    board = board_of(netlist, BusConfig(), streams=True)
    fabric = elaborate(netlist, probes=False, waits=True).structure
    for each in wrapped(fabric, netlist, board).instances:
        if not isinstance(each.component, Written):
            texts.add(each.component)
    texts.add(RunControl())
    texts.add_children()
    chosen = [name for name, rtlil in sorted(texts.rtlil.items()) if proofs_end(rtlil)]
    assert any(name.startswith("run_status") for name in chosen) and len(chosen) >= 5
    assert texts.refuted(chosen) == {}


MUTANTS = {
    "a condition": ("if (~a[0] & b[1])", "if (~a[0] | b[1])"),
    "a part": ("total = a_plus_b[3:0]", "total = a_plus_b[4:1]"),
    "a width": ("wire [4:0] a_plus_b", "wire [2:0] a_plus_b"),
    "a constant": ("4'h0 : (count + 1'h1)", "4'h1 : (count + 1'h1)"),
    "an order": ("total >> count", "count >> total"),
    "a value at power-on": ("count = 4'h0", "count = 4'h1"),
    "a reset": ("if (rst)", "if (1'h0)"),
}


@pytest.mark.parametrize("what", MUTANTS)
def test_another_text_is_refuted(what: str) -> None:
    texts, (old, new) = Texts(), MUTANTS[what]
    texts.add(Counting(), "counting")
    assert old in texts.verilog["counting"]
    said = texts.said("counting", texts.verilog["counting"].replace(old, new))
    assert ("unproven" in said) != ("other values at power-on" in said)


def test_a_rewriting_that_is_wrong_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are written as differences."""
    samples = {"counting": Counting, "crossed": Crossed, "chosen": Chosen}

    def refuted() -> set[str]:
        texts = Texts()
        for name, sample in samples.items():
            texts.add(sample(), name)
        return {*texts.refuted(samples)}

    assert refuted() == set()
    monkeypatch.setitem(BINARY, "add", "-")
    assert refuted() == {"counting"}
