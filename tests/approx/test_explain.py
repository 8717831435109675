"""Where the cycles went: every cycle of every run is accounted for, along the critical path and in every operator.

What the record says of other fabrics is what runs in them say.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from browsing import OFFLINE, chromium
from cases import cases
from programs_of_one_kind import compute_bound, memory_bound
from scenarios import FABRIC, SCENARIOS, Scenario, one_of
from test_dynamic_tiles import data, expert

from sim_approx.backend import run, simulate
from sim_approx.engine.record import NOBODY
from sim_approx.explain.changes import without_work
from sim_approx.explain.explanation import Explanation, explain
from sim_approx.explain.occupation import occupied
from sim_approx.explain.report import report
from step import BF16, FabricConfig, Tile
from step.functions import Exp, Mul
from step.language.graph import Graph
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs
from step.programs.files.json_file import validate
from step.programs.metrics import metrics
from step.programs.program import Program, load_program
from step.running.interpreter import bind

EXAMPLES = sorted(
    each for each in (Path(__file__).parents[2] / "examples").glob("*.py") if "def program" in each.read_text()
)


def check(program: Program) -> Explanation:
    """The path leads from the start to the end, and all that is said of operators is what was counted."""
    found = explain(program, changes=False)
    assert found.result.cycles == run(program.graph, program.inputs, program.fabric).cycles
    begins = 0
    for step in found.path.steps:
        assert step.since == begins < step.until
        begins = step.until
    assert begins == found.cycles == sum(found.path.shares().values())
    for name, each in found.accounts.items():
        counted = found.result.operators[name]
        assert (each.busy, each.finished) == (counted.busy, counted.finished), name
        assert (each.starved.total(), each.blocked.total()) == (counted.starved, counted.blocked), name
    validate(json.loads(json.dumps(found.to_json())), "explanation", program.name)
    fabric = found.simulation.fabric
    events, fabric = found.record.events, found.simulation.fabric
    # Only the banks of shared scratchpads, and DRAM, make anybody wait for what no event tells.
    late = {min(each, len(fabric.machines) - 1) for each in events["machine"][events["late"] > 0].tolist()}
    has_dram = program.fabric.memory.dram is not None
    assert all(fabric.machines[each].contends or (has_dram and fabric.machines[each] is fabric.memory) for each in late)
    assert events["late"].min(initial=0) == 0
    # Every event is behind the one that it follows from, and the first ones are in cycle 0.
    origins = events["origin"]
    first = origins == NOBODY
    assert np.all(events["cycle"][first] == events["late"][first])
    assert np.all(events["cycle"][origins[~first]] < events["cycle"][~first])
    return found


def program_of(scenario: Scenario, memory: MemoryConfig = FABRIC.memory) -> Program:
    return replace(scenario.alone(), fabric=replace(FABRIC, memory=memory))


@pytest.mark.parametrize("scenario", one_of(4))
def test_every_cycle_of_a_scenario_is_explained(scenario: Scenario) -> None:
    check(program_of(scenario))


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if "off_chip" in each.operator], ids=str)
def test_every_cycle_with_dram_is_explained(scenario: Scenario) -> None:
    check(program_of(scenario, MemoryConfig.preset("ddr4", beat_bytes=4)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_cycle_of_an_example_is_explained(path: Path) -> None:
    program = load_program(str(path))
    # What lanes did is what the metric says of the data, although regions may have shared it otherwise.
    assert check(program).usage.roofline.flops == metrics(program).bind(bind(program)).flops


@cases(
    ("swiglu", "gate_projection", "--set fabric.stages=1"),
    ("norm_qkv", "wq_product", "wq_product: as fast as its links"),
    ("softmax", "off-chip memory", "--set memory.latency=1"),
)
def test_what_gains_most_is_about_the_first_cause(name: str, cause: str, change: str) -> None:
    """What most of the critical path goes to is what the best change is about, and a run with it proves it."""
    found = explain(load_program(str(EXAMPLES[0].with_name(f"{name}.py"))))
    assert next(iter(found.path.shares())).what == cause
    best = found.what_if[0]
    assert best.text == change
    cycles = [each.cycles for each in found.what_if]
    assert cycles == sorted(cycles) and cycles[-1] < found.cycles


@cases(
    ("moe_simple", "expert0_product", 301, 273),
    ("swiglu", "gate_projection", 4366, 4357),  # up_projection takes as long
    ("attention", "region1_part", 2472, 2472),  # and so does region1_product,
)
def test_without_the_work_of_its_first_cause_a_run_is_shorter_or_another_is_as_long(
    name: str, cause: str, cycles: int, without: int
) -> None:
    program = load_program(str(EXAMPLES[0].with_name(f"{name}.py")))
    found = explain(program, changes=False)
    assert next(iter(found.path.shares())) == (cause, "works") and found.cycles == cycles
    netlist, data = lower(program.graph, program.fabric), bind_inputs(program.graph, program.inputs)
    assert simulate(netlist, data, timing_of=without_work(netlist, cause)).ending.cycles == without


@pytest.mark.parametrize("rows", [[5, 1, 7, 2], [0, 3, 0, 0, 1], [1, 16, 1, 16]], ids=str)
def test_every_cycle_of_tiles_of_dynamic_size_is_explained(rows: list[int]) -> None:
    """And what they calculate, row by row."""
    program = Program(expert(len(rows), 0), data(rows), FabricConfig(matmul_lanes=4))
    found = check(program)
    fabric, events = found.simulation.fabric, found.record.events
    sized = [each.order for each in fabric.machines if each.sizes]
    assert len(set(occupied(fabric, found.record)[np.isin(events["machine"], sized)].tolist())) > 1
    assert found.usage.roofline.flops == metrics(program).bind(bind(program)).flops


def uncut(program: Program) -> Program:
    """Its sums take one cycle, so that only lanes bound it."""
    return replace(program, fabric=replace(program.fabric, stages=1))


def two_ways() -> Program:
    """Of two ways to the same place one takes long, and the channel of the other has two slots."""
    graph = Graph("ways")
    x = graph.source("x", Tile(BF16, 4, 4), [64])
    long = x
    for number in range(4):
        long = long.map(Exp(), name=f"step{number}")
    long.map(Mul(), x, name="joined").sink("y")
    return Program(graph, {"x": np.ones((64, 4, 4), np.float32)}, FabricConfig())


@cases(
    (two_ways, "x_broadcast.1 -> joined.1: never full"),
    (lambda: memory_bound(20), "--set memory.channels=2"),
    (lambda: uncut(compute_bound(20)), "--set fabric.matmul_lanes=128"),
    ids=["depth", "bandwidth", "lanes"],
)
def test_what_a_run_is_bound_by_is_what_gains(program: Callable[[], Program], change: str) -> None:
    best = next(each for each in explain(program()).what_if if not each.text.endswith("as fast as its links"))
    assert best.text == change


def test_waits_are_for_the_one_at_the_end_of_the_chain() -> None:
    """The short way is held up by who joins it with the long one, which waits for the last step of that."""
    found = explain(two_ways(), changes=False)
    waits = {name: (each.starved, each.blocked) for name, each in found.accounts.items()}
    assert set(waits["x_broadcast"][1]) == {"joined"} and set(waits["x"][1]) == {"x_broadcast"}
    assert set(waits["joined"][0]) == {"step3"} and not waits["joined"][1]


def test_a_page_stands_alone() -> None:
    """All parts are there, with what they show, and nothing is fetched from anywhere."""
    found = explain(load_program(str(EXAMPLES[0].with_name("moe_simple.py"))))
    text = report(found)
    page = _Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert page.ids >= {
        "limit", "path", "what-if", "graph", "time", "operators", "channels", "roofline", "timeline", "data",
    }  # fmt: skip
    assert not page.fetched
    assert not re.search(r"@import|url\(\s*[\"']?(?!#)", text)
    rows = json.loads(page.data)
    assert {row[0] for row in rows["operators"]} == set(found.parts.values())
    assert page.cells.count("--set fabric.stages=1") == 1


@pytest.mark.chromium
def test_a_browser_shows_the_page(tmp_path: Path) -> None:
    """Chromium runs the script without a complaint, and draws a row for each part, with what limits in its picture."""
    path = tmp_path / "report.html"
    found = explain(load_program(str(EXAMPLES[0].with_name("moe_simple.py"))), changes=False)
    path.write_text(report(found))
    logging = ["--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run([chromium(), *OFFLINE, *logging, "--dump-dom", path.as_uri()], capture_output=True, text=True)
    assert "CONSOLE" not in done.stderr
    height = re.search(r'<canvas id="timeline" width="1190" height="(\d+)"', done.stdout)
    assert height is not None
    assert int(height[1]) == 22 + 18 * (3 + len(set(found.parts.values())))
    assert done.stdout.count('class="limits"') == 1


class _Page(HTMLParser):
    """What a page has: ``ids``, text of table ``cells``, what it would be ``fetched`` from, and elements left open."""

    EMPTY = frozenset({"meta", "br", "path", "polyline", "circle", "polygon", "rect", "ellipse"})

    def __init__(self) -> None:
        super().__init__()
        self._inside: str | None = None
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.cells: list[str] = []
        self.fetched: list[str] = []
        self.data = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.ids |= {given["id"]} if given.get("id") else set()
        self.fetched += [f"{tag} {name}" for name in given if name in ("src", "href", "xlink:href", "action")]
        self._inside = given.get("id")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.ids |= {each for name, each in attributes if name == "id" and each}

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif self.open and self.open[-1] == "td":
            self.cells.append(data)
