"""Pages on which tokens move: what is packed is what the engine recorded, and what a browser shows of it."""

from __future__ import annotations

import base64
import html
import json
import re
import sys
import zlib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import Page, browsing
from cases import cases
from integration import fragile
from raising import raised, raising

import step
from step import FP32, Graph, Program, Tile
from step.errors import Deadlock, EnvironmentProblem, InputError, StreamFault
from step.programs.program import load_program
from step.running.result import Activity
from step_show.play import play_data
from step_show.play.player import Play

ROOT = Path(__file__).parents[2]
EXAMPLES = ["moe_simple.py", "recirculate.py", "attention.py:small"]


@cache
def example(name: str) -> Program:
    return load_program(str(ROOT / "examples" / name))


def stuck() -> Program:
    made = fragile.program()
    return Program(made.graph, fragile.LONG_ROW, made.fabric)


def data_of(played: Play) -> dict[str, Any]:
    """The data on the page, with the arrays of each channel and unit."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*)</script>', played.page)
    data = json.loads(text)
    steps = np.frombuffer(zlib.decompress(base64.b64decode(data["packed"])), "<i4")
    places = np.cumsum([0, *data["lengths"]])
    arrays = iter([np.cumsum(steps[begin:end]) for begin, end in pairwise(places)])
    for each in data["channels"]:
        each |= {part: next(arrays) for part in ("enters", "control", "leaves")}
    for each in data["units"]:
        each |= {part: next(arrays) for part in ("since", "states")}
    assert next(arrays, None) is None
    return data


def contents(data: dict[str, Any], cycle: int) -> list[int]:
    """Tokens in each channel."""
    both = [[np.searchsorted(each[part], cycle) for part in ("enters", "leaves")] for each in data["channels"]]
    return [int(entered - left) for entered, left in both]


def spent(unit: dict[str, Any], end: int) -> list[int]:
    """Cycles of each activity."""
    lengths = np.diff(np.append(unit["since"], end))
    return [int(lengths[(unit["states"] & 3) == each].sum()) for each in Activity]


@pytest.mark.parametrize("name", EXAMPLES)
def test_tokens_and_states_are_those_of_the_run(name: str) -> None:
    program = example(name)
    run = step.run(program, "approx", events=True)
    data = data_of(step.play(program))
    assert run.result.events is not None
    assert (data["first"], data["end"], data["waits"]) == (0, run.cycles, [])
    for each in data["channels"]:
        events = run.result.events[each["name"]]
        for part, recorded in (("enters", events.cycles), ("control", events.control), ("leaves", events.leaves)):
            assert each[part].tolist() == recorded.tolist()
        assert each["capacity"] == run.result.channels[each["name"]].capacity
    levels = [run.result.events[each["name"]].levels() for each in data["channels"]]
    for cycle in range(0, run.cycles, 7):
        held = [int(level[np.searchsorted(times, cycle, side="right") - 1]) for times, level in levels]
        assert contents(data, cycle) == held
    for each in data["units"]:
        counted = run.result.operators[each["name"]]
        assert spent(each, run.cycles) == [counted.starved, counted.busy, counted.blocked, counted.finished]
    totals = np.array([spent(each, run.cycles) for each in data["units"]]).sum(axis=0) / len(data["units"])
    width = -(-run.cycles // play_data.BANDS)
    lengths = np.minimum(width, run.cycles - width * np.arange(len(data["bands"][0])))
    assert np.allclose((data["bands"] * lengths).sum(axis=1), totals, atol=0.001 * run.cycles)


def test_the_wait_of_a_unit_is_for_a_channel_at_it() -> None:
    data = data_of(step.play(example("moe_simple.py")))
    waited = 0
    for number, each in enumerate(data["units"]):
        for state in each["states"][each["states"] >= 4].tolist():
            channel = data["channels"][(state >> 2) - 1]
            assert channel["sink" if state & 3 == Activity.STARVED else "source"] == number
            waited += 1
    assert waited > 100


def test_a_window_has_what_is_there_in_its_cycles() -> None:
    program = example("moe_simple.py")
    whole, part = data_of(step.play(program)), data_of(step.play(program, first=100, last=139))
    assert (part["first"], part["end"]) == (100, 140)
    for cycle in range(100, 140):
        assert contents(part, cycle) == contents(whole, cycle)
    for one, other in zip(whole["channels"], part["channels"], strict=True):
        number = other["number"]
        assert one["control"][number : number + len(other["control"])].tolist() == other["control"].tolist()
    for one, other in zip(whole["units"], part["units"], strict=True):
        for cycle in (100, 117, 139):
            states = [each["states"][np.searchsorted(each["since"], cycle, side="right") - 1] for each in (one, other)]
            assert states[0] == states[1]
        assert other["since"][0] == 100 and other["since"][-1] < 140


def test_a_deadlock_has_its_cycle_of_waits() -> None:
    played = step.play(stuck())
    data, report = data_of(played), str(raised(Deadlock, lambda: step.run(stuck(), "approx")))
    lines = report[report.index("the cycle of waits:") :].splitlines()[1:]
    cycle = [(data["units"][unit]["name"], data["channels"][channel]["name"]) for unit, channel in data["waits"]]
    assert cycle == [(line.split()[0], re.search(r"(\S+) -> ", line)[1]) for line in lines]  # type: ignore[index]
    assert str(played.failure) == report and "deadlock: from cycle 16 on nothing can move" in played.page
    assert repr(played) == "<play of fragile: deadlock, 16 cycles>"
    last = {each["name"]: each["states"][-1] for each in data["units"]}
    for unit, channel in data["waits"]:
        full = data["channels"][channel]["source"] == unit
        assert last[data["units"][unit]["name"]] & 3 == (Activity.BLOCKED if full else Activity.STARVED)
    assert last["products"] == Activity.FINISHED


def test_a_fault_is_played_up_to_there() -> None:
    made = fragile.program()
    played = step.play(made, inputs=fragile.RAGGED)
    assert isinstance(played.failure, StreamFault)
    assert html.escape(str(played.failure)) in played.page
    assert data_of(played)["end"] == played.result.cycles > 0


@cases(
    ({"first": 9, "last": 3}, "the first cycle, 9, must not be behind the last one, 3"),
    ({"first": 301}, "the run has 301 cycles, so there is no cycle 301"),
    ({"first": -1}, "first must be an integer >= 0, not -1"),
    ({"last": "end"}, "last must be an integer >= 0, not 'end'"),
)
def test_cycles_that_are_not_there(window: dict[str, Any], complaint: str) -> None:
    with raising(InputError, complaint):
        step.play(example("moe_simple.py"), **window)


def test_more_tokens_than_a_page_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play_data, "MOST", 100)
    complaint = "the 301 cycles have 266 tokens, and a page can play 100: choose fewer cycles with --from and --to"
    with raising(InputError, complaint):
        step.play(example("moe_simple.py"))


def test_without_anything_that_lays_out_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grandalf.graphs", None)
    monkeypatch.delitem(sys.modules, "step.programs.pictures.layered", raising=False)
    complaint = "a page that plays a run needs the module grandalf; install it with: pip install 'step-fabric[show]'"
    with raising(EnvironmentProblem, complaint):
        step.play(example("moe_simple.py"))


def test_what_repeats_is_folded() -> None:
    """A million numbers that grow evenly take a few kilobytes."""
    assert len(play_data.packed([np.arange(0, 2_000_000, 2)])) < 10_000


def test_a_page_stands_alone_in_a_file_and_in_a_notebook(tmp_path: Path) -> None:
    played = step.play(example("moe_simple.py"))
    assert not re.search(r"\b(src|href)=|@import|url\(\s*[\"']?(?!\$)|fetch\(|https?:", played.page)
    played.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == played.page
    shown = played._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;') and shown.count("<") == 2
    with raising(InputError, f"a page must go to a file that ends in .html, not '{tmp_path}/page.txt'"):
        played.save(f"{tmp_path}/page.txt")


def chains(count: int, length: int, tokens: int) -> Program:
    """So many chains of operators through each of which so many tokens go."""
    graph, inputs = Graph("chains"), {}
    for chain in range(count):
        stream = graph.source(f"x{chain}", Tile(FP32), [tokens])
        for _ in range(length):
            stream = stream.promote().flatten(0, 1)
        stream.sink(f"y{chain}")
        inputs[f"x{chain}"] = np.ones(tokens, np.float32)
    return Program(graph, inputs)


def opened(page: Page, played: Play, folder: Path, fragment: str = "") -> None:
    (folder / "page.html").write_text(played.page)
    page.open((folder / "page.html").as_uri() + fragment)


PLACE = """(() => {
  const { x, y } = units.find((each) => each.name === "%s"), frame = stage.getBoundingClientRect();
  return [frame.x + view.x + (x + 5) * view.scale, frame.y + view.y + (y + 5) * view.scale];
})()"""
SAID = "new Promise((done) => setTimeout(() => done(at('thing').innerText), 300))"
LIT = """new Promise((done) => setTimeout(() => {
  const shown = pen.getImageData(0, 0, stage.width, stage.height).data;
  let found = 0;
  for (let at = 0; at < shown.length; at += 4) {
    found += shown[at] === 0xd5 && shown[at + 1] === 0x5e && shown[at + 2] === 0;
  }
  done(found);
}, 300))"""
FRAMES = """new Promise((done) => {
  const times = [];
  play(true);
  const next = (now) => times.push(now) < %d ? requestAnimationFrame(next) : done(times);
  requestAnimationFrame(next);
})"""


@pytest.mark.chromium
def test_a_browser_plays_the_run(tmp_path: Path) -> None:
    """Keys, what a click says, and in every cycle the tokens that were recorded."""
    played = step.play(example("moe_simple.py"))
    data = data_of(played)
    with browsing(tmp_path / "profile") as page:
        opened(page, played, tmp_path, "#120")
        assert page.says("time") == 120
        counts = "channels.map((each) => { const [head, tail] = contents(each, %d); return tail - head; })"
        for cycle in (0, 1, 57, 120, 300, 301):
            assert page.says(counts % cycle) == contents(data, cycle)
        for key, cycle in (("ArrowRight", 121), ("ArrowLeft", 120), ("PageDown", 123), ("End", 301), ("Home", 0)):
            page.press(key)
            assert page.says("time") == cycle, key
        speed = page.says("SPEEDS[speed]")
        page.press("ArrowUp")
        assert page.says("SPEEDS[speed]") > speed
        page.press(" ")
        page.says("new Promise((done) => setTimeout(done, 500))")
        assert page.says("playing && time > 1")
        page.press(" ")
        assert page.says("!playing && Number.isInteger(time)")
        page.says("go(120)")
        box = page.says(PLACE % "gather")
        page.click(*box)
        said = page.says(SAID)
        held = dict(zip([each["name"] for each in data["channels"]], contents(data, 120), strict=True))
        assert said.startswith("gather\n") and "starved: waits for a token" in said
        assert f"routing_broadcast → gather: {held['routing_broadcast.1']} of " in said
        page.says("choose(channels.find((each) => each.name === 'routing_broadcast.1'))")
        said = page.says(SAID)
        assert "[10] of Selector(2)" in said and "\n1: value, since " in said and "\n10: D, since " in said
        assert page.complaints == []


@pytest.mark.chromium
def test_a_browser_lights_the_cycle_of_a_deadlock(tmp_path: Path) -> None:
    with browsing(tmp_path / "profile") as page:
        opened(page, step.play(stuck()), tmp_path, "#15")
        assert page.says(LIT) == 0
        page.press("End")
        assert page.says(LIT) > 1000
        assert "the cycle of waits:" in page.says("at('about').innerText")


@pytest.mark.chromium
@cases((5, 9, 2000, 30), (20, 12, 1900, 10))
def test_a_browser_plays_large_runs(count: int, length: int, tokens: int, least: float, tmp_path: Path) -> None:
    """100 operators, and 520 with a million tokens: frames a second, drawn in software on a machine that is busy."""
    played = step.play(chains(count, length, tokens))
    with browsing(tmp_path / "profile") as page:
        opened(page, played, tmp_path)
        page.says(FRAMES % 30)
        times = page.says(FRAMES % 120)
        assert 1000 / float(np.median(np.diff(times))) >= least
        assert page.complaints == []
