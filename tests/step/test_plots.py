"""Plots of runs and sweeps: what they show is what the run counted, in axes that say it with units."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised

import step
from step.errors import EnvironmentProblem, InputError
from step.host.amounts import prefix
from step.host.figures import drawn
from step.lowering.feasible import lanes_of
from step.programs.prepare import prepare
from step.running.work import work_of
from step_models import moe, sampled_routing
from step_show.plot.parts import grouped, part_of

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
EXPERTS, TOKENS, CHOSEN = 4, 12, 2
ROUTING = sampled_routing(TOKENS, experts=EXPERTS, experts_per_token=CHOSEN, skew=1.0, seed=0)
RUN_PLOTS = ("bandwidth", "fifos", "occupancy", "roofline", "tokens_per_expert", "utilization")


def mixture(rows: int = 4, regions: int = 2) -> step.Program:
    """Rows 0: tiles of dynamic size."""
    sizes = {"experts": EXPERTS, "hidden": 32, "inner": 32, "columns": 16}
    return moe.program(ROUTING, rows=rows or None, regions=regions, values=False, **sizes)


@pytest.fixture(scope="module", params=[4, 0], ids=["static", "dynamic"])
def run(request: pytest.FixtureRequest) -> step.Run:
    return step.run(mixture(request.param), "approx", events=True)


@pytest.fixture
def ax() -> Iterator[Any]:
    yield Figure().add_subplot()


@pytest.mark.parametrize("name", RUN_PLOTS)
def test_axes_are_given_back_with_labels(name: str, run: step.Run, ax: Any) -> None:
    found = getattr(step.plot, name)(run, ax=ax)
    assert found is ax and ax.get_xlabel() and (ax.get_ylabel() or ax.get_yticklabels())
    assert ax.get_title().startswith("moe")
    ax.figure.draw_without_rendering()


def test_bandwidth_adds_up_to_the_traffic(run: step.Run, ax: Any) -> None:
    step.plot.bandwidth(run, intervals=10, ax=ax)
    read, both = (each.get_data() for each in ax.patches)
    moved = [(each.values * np.diff(each.edges)).sum() for each in (read, both)]
    total = sum(each.beats for each in run.result.traffic.values()) * run.program.fabric.memory.beat_bytes
    assert moved[1] == pytest.approx(total) and len(both.values) <= 10 and 0 < moved[0] < moved[1]
    assert max(both.values) <= run.program.fabric.memory.bandwidth == ax.lines[1].get_ydata()[0]
    assert [each.get_text() for each in ax.get_legend().get_texts()][:2] == ["read", "written"]


def test_tokens_per_expert_are_those_of_the_routing(run: step.Run, ax: Any) -> None:
    step.plot.tokens_per_expert(run, ax=ax)
    assert [bar.get_height() for bar in ax.patches] == np.bincount(ROUTING.ravel(), minlength=EXPERTS).tolist()
    assert ax.lines[0].get_ydata()[0] == ROUTING.size / EXPERTS


def test_a_map_of_what_regions_were_busy_with(run: step.Run, ax: Any) -> None:
    step.plot.utilization(run, intervals=10, ax=ax)
    (mesh,) = ax.collections
    names = [each.get_text() for each in ax.get_yticklabels()]
    assert {"region0", "region1"} < set(names) and mesh.get_array().shape[0] == len(names)
    widths = np.diff(np.append(np.arange(0, run.cycles, -(-run.cycles // 10)), run.cycles))
    netlist = prepare(run.program).netlist
    inside = {node.name: lanes_of(node, netlist) for node in netlist.units if part_of(node.name) == "region0"}
    busy = sum(run.result.operators[name].busy * lanes for name, lanes in inside.items()) / sum(inside.values())
    assert (mesh.get_array()[names.index("region0")] * widths).sum() / 100 == pytest.approx(busy)


def test_fifos_are_as_full_as_the_run_counted(run: step.Run, ax: Any) -> None:
    step.plot.fifos(run, most=100, ax=ax)
    bars = len(ax.patches) // 2
    names = [each.get_text() for each in ax.get_yticklabels()]
    assert 3 < bars == len(names) == len(ax.texts) and "output" not in names
    used, room = ([each.get_width() for each in part] for part in (ax.patches[bars:], ax.patches[:bars]))
    assert all(most <= all_of_it for most, all_of_it in zip(used, room, strict=True)) and max(used) > 0
    rows = next(number for number, name in enumerate(names) if name == "rows")
    channel = run.result.channels["rows"]
    assert ax.texts[rows].get_text() == f" {channel.peak} of {channel.capacity}"
    assert room[rows] * 1000 == channel.capacity * 32 * 2  # a row of 32 scalars of BF16, in kB


def test_occupancy_reaches_the_peak(run: step.Run, ax: Any) -> None:
    channels = run.result.channels
    step.plot.occupancy(run, ["rows", "route.0"], ax=ax)
    for place, (name, patch) in enumerate(zip(("rows", "route.0"), ax.patches, strict=True)):
        levels = (patch.get_data().values + place) / 0.8 * channels[name].capacity
        assert max(levels) == pytest.approx(channels[name].peak) and min(levels) == pytest.approx(0)
        stayed = (levels * np.diff(patch.get_data().edges)).sum()
        events = run.result.events
        assert events is not None
        assert stayed == pytest.approx((events[name].leaves - events[name].cycles).sum())


def test_work_is_that_of_the_metrics(run: step.Run) -> None:
    measured = step.metrics(run.program).bind(step.bind(run.program))
    works = work_of(run.program)
    assert sum(each.flops for each in works.values()) == measured.flops
    for name, each in works.items():
        assert each.flops <= each.a_cycle * run.result.operators[name].busy, name


def test_the_program_stands_under_its_roof(run: step.Run, ax: Any) -> None:
    step.plot.roofline(run, ax=ax)
    flops = sum(each.flops for each in work_of(run.program).values())
    x, y = ax.collections[-1].get_offsets()[0]
    moved = sum(each.beats for each in run.result.traffic.values()) * run.program.fabric.memory.beat_bytes
    assert (x, y) == (pytest.approx(flops / moved), pytest.approx(flops / run.cycles))
    (roof,) = ax.lines
    assert y < np.interp(x, *roof.get_data()) and (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    texts = [each.get_text() for each in ax.get_legend().get_texts()]
    assert "region*_gate_projection,\nregion*_up_projection" in texts


def test_one_of_several_that_route(ax: Any) -> None:
    step.plot.tokens_per_expert(step.run(two_routes(), "approx"), operator="b", ax=ax)
    assert [bar.get_height() for bar in ax.patches] == [1, 2] and ax.get_title() == "routes: b"


def test_runs_without_events_run_again(ax: Any) -> None:
    program = mixture()
    step.plot.occupancy(step.run(program, "approx"), ax=ax)
    other = step.Simulator(program).run(depths={"rows": 9}, memory=step.MemoryConfig(latency=400))
    cycles = step.run(program, "approx").cycles
    message = (
        f"the fast model takes {cycles:,} cycles for moe, not the {other.cycles:,} of this run: it was made with other "
        "depths, another memory or other data than those of its program"
    )
    there = step.Run(program, other.result)
    with pytest.raises(InputError, match=f"^{message}$"):
        step.plot.bandwidth(there)


def sums() -> step.Program:
    graph = step.Graph("sums")
    graph.source("x", step.Tile(step.FP32), [2, 3]).accum(step.functions.Add()).sink("y")
    return step.Program(graph, {"x": [[1, 2, 3], [4, 5, 6]]})


def two_routes() -> step.Program:
    """Values go one of two ways, twice, by selectors of their own."""
    graph = step.Graph("routes")
    n = graph.symbol("N")
    x = graph.source("x", step.Tile(step.FP32), [n])
    for name, targets in (("a", 2), ("b", 2)):
        for number, part in enumerate(x.partition(graph.selectors(f"to_{name}", targets, [n]), targets=2, name=name)):
            part.sink(f"{name}_{number}")
    return step.Program(graph, {"x": [1, 2, 3], "to_a": [0, 0, 1], "to_b": [1, 1, 0]})


def copying() -> step.Program:
    graph = step.Graph("copying")
    graph.source("x", step.Tile(step.FP32), [2]).sink("y")
    return step.Program(graph, {"x": [1, 2]})


@cases(
    (sums(), "tokens_per_expert", {}, "no operator of sums routes values by selectors, so there are no experts"),
    (mixture(), "tokens_per_expert", {"operator": "rout"},
     "there is no operator that routes 'rout'; did you mean 'route'?"),
    (two_routes(), "tokens_per_expert", {}, "routes routes to 2 ways in different manners: choose one of a, b"),
    (sums(), "occupancy", {"channels": ["z"]}, "there is no channel 'z'"),
    (copying(), "roofline", {}, "the operators of copying do no operations, so there is no roof to show"),
    (copying(), "utilization", {}, "no operator of copying has lanes, so there is nothing that could be utilized"),
)  # fmt: skip
def test_what_can_not_be_shown(program: step.Program, name: str, options: dict[str, Any], message: str) -> None:
    caught = raised(InputError, lambda: getattr(step.plot, name)(step.run(program, "approx"), **options))
    assert caught.startswith(message)


@pytest.mark.parametrize("name", ["bandwidth", "fifos", "occupancy", "roofline", "utilization"])
def test_a_run_without_time_has_no_plot(name: str) -> None:
    with pytest.raises(InputError, match="a run on the back end interpret has no cycles; approx and rtl have"):
        getattr(step.plot, name)(step.run(sums(), "interpret"))


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    caught = raised(EnvironmentProblem, lambda: step.plot.fifos(step.run(sums(), "approx")))
    assert caught == "a plot needs the module matplotlib; install it with: pip install 'step-fabric[plots]'"


def test_a_front_with_stars_for_dynamic_tiles(ax: Any) -> None:
    found = step.sweep(mixture, {"rows": [2, 4, 0], "regions": [2, 4]}, jobs=1)
    assert [row.dynamic_tiles for row in found.rows] == [False] * 4 + [True] * 2
    step.plot.front(found, by="regions", ax=ax)
    texts = [each.get_text() for each in ax.get_legend().get_texts()]
    assert texts == ["front", *(f"regions={n}, {kind} tiles" for n in (2, 4) for kind in ("static", "dynamic"))]
    assert [len(each.get_offsets()) for each in ax.collections] == [2, 1, 2, 1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("on-chip memory [kB]", "cycles")
    assert (
        set() < {each.get_text() for each in ax.texts} <= {f"rows={r}, regions={n}" for r in (2, 4, 0) for n in (2, 4)}
    )
    step.plot.front(found.rows, ("energy", "lanes"), ax=Figure().add_subplot())
    with pytest.raises(InputError, match=r"the rows have no parameter 'region'; did you mean 'regions'\? they have"):
        step.plot.front(found, by="region", ax=ax)
    with pytest.raises(InputError, match="a plot needs two objectives, as in cycles,channel_bytes"):
        step.plot.front(found, ["cycles"], ax=ax)


def test_names_of_parts() -> None:
    assert [part_of(each) for each in ("expert12_y", "layer0_expert3_y", "route", "x1", "region0_back1")] == [
        "expert12", "layer0", None, None, "region0"
    ]  # fmt: skip
    assert grouped(["e0_y", "e1_y", "route", "e2_x"]) == {
        "e*_y": ["e0_y", "e1_y"],
        "route": ["route"],
        "e2_x": ["e2_x"],
    }


def test_prefixes_and_pictures(tmp_path: Path) -> None:
    assert [prefix(each) for each in (0, 12, 1999, 2.5e6)] == [(1.0, ""), (1.0, ""), (1e3, "k"), (1e6, "M")]
    run = step.run(sums(), "approx")
    once, again = (drawn(lambda figure: step.plot.fifos(run, ax=figure.add_subplot()), (4, 3)) for _ in range(2))
    assert once == again and b"<svg" in once


def test_new_axes_are_those_of_pyplot() -> None:
    from matplotlib import pyplot

    axes = step.plot.fifos(step.run(sums(), "approx"))
    assert pyplot.fignum_exists(axes.figure.number)
    pyplot.close(axes.figure)


def test_the_page_has_the_pictures_that_its_code_draws() -> None:
    """Which `python -m tables.plots` writes."""
    text = (ROOT / "docs" / "plots.md").read_text()
    shown = re.findall(r"!\[.+\]\(plot_(\w+)\.png\)", text)
    assert sorted(shown) == sorted(re.findall(r"axes = step\.plot\.(\w+)\(", text)) == sorted(step.plot.__all__)
    assert all((ROOT / "docs" / f"plot_{name}.png").is_file() for name in shown)
