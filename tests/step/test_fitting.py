"""What a fit can choose, and what its integer programs take of it."""

from __future__ import annotations

from dataclasses import astuple, replace

import pytest

import step
from step.host.progress import silent
from step.lowering.netlist import lower
from step.programs.prepare import open_program
from step_explore.areas import area_of
from step_explore.fitting.depths import shallower
from step_explore.fitting.goal import Goal
from step_explore.fitting.longest_path import LongestPath
from step_explore.fitting.space import Places, Space
from step_explore.fitting.trials import Choice, Trials, firings

SWIGLU = "examples/swiglu.py"


@pytest.fixture(scope="module")
def trials() -> Trials:
    return Trials(open_program(SWIGLU), silent)


@pytest.fixture(scope="module")
def space(trials: Trials) -> Space:
    return Space.of(lower(trials.program.graph, trials.program.fabric))


def narrowed(space: Space, name: str, link: int) -> Places:
    """All that is asked for, but one unit with the most lanes on such links."""
    (at,) = (at for at, unit in enumerate(space.units) if unit.name == name)
    places = [place for place, option in enumerate(space.units[at].options) if option.link == link]
    return tuple(places[-1] if each == at else asked for each, asked in enumerate(space.asked))


def test_what_is_asked_for_is_the_fabric(trials: Trials, space: Space) -> None:
    assert space.fabric(space.asked) == trials.program.fabric
    for chosen in (space.asked, narrowed(space, "activation", 16), narrowed(space, "down_projection", 8)):
        netlist = replace(space.netlist, fabric=space.fabric(chosen))
        assert astuple(space.area(chosen)) == pytest.approx(astuple(area_of(netlist)))


def test_options_are_lanes_and_links(space: Space) -> None:
    (product,) = (unit for unit in space.units if unit.name == "down_projection")
    assert {option.link for option in product.options} == {8, 16, 32, 64}
    lanes = [option.lanes for option in product.options if option.link == 64]
    assert lanes == sorted(set(lanes)) and lanes[0] == 1 and lanes[-1] == product.options[-1].lanes


def test_none_of_the_lanes_of_a_width_is_worse_than_another(space: Space) -> None:
    for unit in space.units:
        for one in unit.options:
            others = [each for each in unit.options if each is not one and each.link == one.link]
            assert not any(each.dominates(one) and each != unit.options[-1] for each in others), (unit.name, one)


@pytest.mark.parametrize("name", ["activation", "gated", "down_projection"])
@pytest.mark.parametrize("link", [8, 16, 32])
def test_areas_of_parts_are_that_of_the_whole(space: Space, name: str, link: int) -> None:
    """Of one unit with other links, with what channels cost whose words become narrower and wider."""
    chosen = narrowed(space, name, link)
    expected = space.area(chosen) - space.area(space.asked)
    found = space.difference(space.asked, chosen)
    assert found.lut_sites == pytest.approx(expected.lut_sites, abs=12)  # slots in flight behind the unit in front
    assert found.multipliers == pytest.approx(expected.multipliers, abs=1e-6)


def test_a_path_is_as_long_as_the_busiest_unit_at_least(trials: Trials, space: Space) -> None:
    result = trials.run(space.netlist.fabric)
    assert result is not None
    counts = firings(result)
    programs = LongestPath(space, counts)
    path = programs.cycles(space.asked)
    busiest = max(counts[unit.name] * unit.options[-1].intervals[0] for unit in space.units)
    assert busiest <= path <= result.cycles
    chosen = programs.narrowest(1.05 * path)
    assert chosen is not None and programs.cycles(chosen) <= 1.05 * path + 1e-6
    assert space.area(chosen).lut_sites < 0.6 * space.area(space.asked).lut_sites
    assert programs.narrowest(0.9 * busiest) is None
    sites = 0.5 * space.parts(space.asked).lut_sites
    fast = programs.fastest({"lut_sites": sites})
    assert fast is not None and space.parts(fast).lut_sites <= 1.001 * sites
    assert programs.fastest({"lut_sites": 100.0}) is None


def test_alike_units_have_the_same_links() -> None:
    program = open_program("examples/moe_simple.py")
    trials = Trials(program, silent)
    space = Space.of(lower(program.graph, program.fabric))
    result = trials.run(program.fabric)
    assert result is not None
    programs = LongestPath(space, firings(result))
    chosen = programs.narrowest(2 * programs.cycles(space.asked))
    assert chosen is not None and any(len(group) > 1 for group in space.alike)
    for group in space.alike:
        assert len({space.units[at].options[chosen[at]].link for at in group}) == 1
    assert trials.choice(space, chosen) is not None


def test_depths_that_are_not_needed_are_taken_back() -> None:
    """A channel that is too deep loses its block RAM where registers do; the run has as many cycles as before."""
    graph = step.Graph("deep")
    x = graph.source("x", step.Tile(step.FP32, 1, 4), [64])
    x.map(step.functions.Exp(), name="slow").buffered(12).map(step.functions.Scale(2.0)).sink("y")
    program = step.Program(graph, {"x": [[[1.0, 2.0, 3.0, 4.0]]] * 64})
    trials = Trials(program, silent)
    result = trials.run(program.fabric)
    assert result is not None
    asked = Choice(program.fabric, area_of(lower(graph, program.fabric)), result.cycles)
    found = shallower(trials, asked, Goal({}, result.cycles))
    assert found.depths == {"slow": 2} and found.cycles == asked.cycles
    assert found.area.lut_sites < asked.area.lut_sites
    assert step.run(replace_depths(program, found.depths), backend="approx").cycles == found.cycles


def replace_depths(program: step.Program, depths: dict[str, int]) -> step.Program:
    return replace(program, graph=replace(program.graph, depths=depths))
