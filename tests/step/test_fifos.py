"""Sizes of FIFOs: what is found is the smallest, loses no cycle, does not deadlock, and is kept in files."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from progress_lines import interrupting
from raising import raising

import step
from step import FP32, FabricConfig, Graph, Program, Tile
from step.errors import Deadlock, FabricError, FormatError, InputError
from step.functions import Add, Mul, RowMax
from step.lowering.netlist import lower
from step.lowering.storage import slot_bits
from step.programs.files.depths import DepthBinding
from step.programs.files.json_file import written_by
from step.programs.program import load_program
from step_explore.fifos.alike import alike
from step_explore.fifos.bound import StorageBound
from step_explore.fifos.runs import Depths, Runs
from step_explore.fifos.shrink import LEAST, shrink

EXAMPLES = Path(__file__).parents[2] / "examples"


def scaled(lengths: Sequence[int] = (9, 9)) -> Program:
    """Rows scaled by their sums: a row waits for its sum, in two channels that have too little room for it."""
    graph = Graph("scaled")
    rows = graph.source("rows", Tile(FP32), [len(lengths), graph.symbol("n", ragged=True)])
    sums = rows.accum(Add(), name="sum").reshape(1, name="alone")[0].expand(rows, name="spread")
    rows.map(Mul(), sums, name="scaled").sink("y")
    return Program(graph, {"rows": [np.ones(length).tolist() for length in lengths]})


# -- smaller --------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(2, 90), st.integers(0, 40)), min_size=1, max_size=9), st.integers(0, 60))
def test_shrinking_finds_bounds_and_trades(channels: list[tuple[int, int]], together: int) -> None:
    """Each channel has a bound of its own, and all have one together, on which they have to agree."""
    bounds = {f"c{n}": low for n, (low, _) in enumerate(channels)}
    depths = {f"c{n}": low + more for n, (low, more) in enumerate(channels)}
    total = min(sum(depths.values()), sum(bounds.values()) + together)
    tried: list[Depths] = []

    def is_good(each: Depths) -> bool:
        return all(each[name] >= low for name, low in bounds.items()) and sum(each.values()) >= total

    def good(candidates: Sequence[Depths]) -> list[bool]:
        tried.extend(candidates)
        return [is_good(each) for each in candidates]

    found = shrink(depths, list(depths), good)
    assert is_good(found) and all(LEAST <= found[name] <= depths[name] for name in depths)
    assert not any(is_good({**found, name: found[name] - 1}) for name in found if found[name] > LEAST)
    assert sum(found.values()) == max(total, sum(bounds.values()))
    assert all(each >= LEAST for candidate in tried for each in candidate.values())


def test_channels_that_are_alike_have_one_limit_first() -> None:
    """Of a hundred there are a few runs; those that may be below the smallest depth are so together."""
    depths = {f"c{number}": 40 + number % 2 for number in range(100)} | {f"w{number}": 9 for number in range(50)}
    groups = [[name for name in depths if name[0] == kind] for kind in "cw"]
    tried: list[Depths] = []

    def good(candidates: Sequence[Depths]) -> list[bool]:
        tried.extend(candidates)
        return [min(each[name] for name in groups[0]) >= 7 for each in candidates]

    found = shrink(depths, groups, good, alone=(), floor=dict.fromkeys(groups[1], 1))
    assert found == dict.fromkeys(groups[0], 7) | dict.fromkeys(groups[1], 1) and len(tried) < 20
    alone = shrink(depths, groups, good, alone=["c3"], floor=dict.fromkeys(groups[1], 1))
    assert alone == found


def test_shrinking_where_less_may_be_better() -> None:
    """Only an even depth is good, so one alone can not be lowered, and two together can."""

    def good(candidates: Sequence[Depths]) -> list[bool]:
        return [(each["a"] + each["b"]) % 2 == 0 for each in candidates]

    assert shrink({"a": 9, "b": 9}, ["a", "b"], good) == {"a": 2, "b": 2}


# -- sizes ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sizing() -> step.Sizing:
    """Of a program that deadlocks with the depths that it asks for."""
    return step.size_fifos(scaled())


def cycles(program: Program, depths: Depths) -> int | None:
    """By the back end itself; None for a deadlock."""
    netlist = lower(program.graph, program.fabric).with_depths(depths)
    try:
        return step.run(Program(netlist.graph, program.inputs, program.fabric), "approx", depths=depths).cycles
    except Deadlock:
        return None


def test_no_cycle_is_lost(sizing: step.Sizing) -> None:
    program, unbounded = scaled(), dict.fromkeys(sizing.asked.depths, 10_000)
    (fewest,) = sizing.fewest
    assert sizing.asked.cycles is None and cycles(program, {}) is None
    assert fewest == cycles(program, sizing.lossless.depths) <= (cycles(program, unbounded) or 0)
    for name, depth in sizing.lossless.depths.items():
        if depth > LEAST:
            less = cycles(program, {**sizing.lossless.depths, name: depth - 1})
            assert less is None or less > fewest


def test_the_least_does_not_deadlock(sizing: step.Sizing) -> None:
    program = scaled()
    assert sizing.least.cycles == (cycles(program, sizing.least.depths),) != (None,)
    deep = {name: depth for name, depth in sizing.least.depths.items() if depth > LEAST}
    assert deep and all(cycles(program, {**sizing.least.depths, name: deep[name] - 1}) is None for name in deep)
    with pytest.raises(Deadlock) as caught:
        step.run(program, "approx")
    assert all(f"{name}: {depth} instead of 2" in str(caught.value) for name, depth in deep.items())


def test_the_front_is_one(sizing: step.Sizing) -> None:
    front = sizing.front
    assert front[0].cycles == sizing.fewest and front[0].bits == sizing.lossless.bits
    assert front[-1].bits == sizing.least.bits
    for before, after in pairwise(front):
        assert before.cycles < after.cycles and before.bits > after.bits  # type: ignore[operator]
    assert all(each.cycles == (cycles(scaled(), each.depths),) for each in front)
    assert sizing.within(0) == front[0] and sizing.within(100) == front[-1]
    assert all(sizing.within(each.loss(sizing.fewest)) == each for each in front)
    tenth = replace(front[0], cycles=(11,), bits=1)
    assert replace(sizing, front=(tenth,), lossless=replace(front[0], cycles=(10,))).within(0.1) == tenth


def in_series() -> Program:
    """As `scaled`, but a row waits in two channels one behind the other, of which the second one is narrow."""
    graph = Graph("series")
    rows = graph.source("rows", Tile(FP32, 1, 2), [2, 9])
    sums = rows.accum(Add(), name="sum").map(RowMax(), name="most").reshape(1, name="alone")[0]
    narrow = rows.map(RowMax(), name="narrow")
    narrow.map(Mul(), sums.expand(rows, name="spread"), name="scaled").sink("y")
    return Program(graph, {"rows": np.ones((2, 9, 1, 2))})


@pytest.mark.parametrize("make", [scaled, in_series])
def test_the_bound_is_that_of_all_depths(make: Callable[[], Program]) -> None:
    pytest.importorskip("scipy")
    program = make()
    found = step.size_fifos(program, bound=True)
    assert found.bound == StorageBound(found.least.bits, None)
    runs = Runs(lower(program.graph, program.fabric), [step.Simulator(program)], 1)
    floor = dict.fromkeys(found.least.depths, LEAST)
    waiting = [name for name in floor if name.startswith("rows_broadcast.") or name == "narrow"]
    every = [
        {**floor, **dict(zip(waiting, depths, strict=True))}
        for depths in itertools.product((2, 3, 4, 5, 6, 7, 8, 9, 10), repeat=len(waiting))
    ]
    cheaper = [depths for depths in every if runs.bits(depths) < found.least.bits]
    assert cheaper and not any(each.cycles for each in runs.outcomes(cheaper))


def test_a_bound_where_order_depends_on_time() -> None:
    pytest.importorskip("scipy")
    found = step.size_fifos(EXAMPLES / "moe_simple.py", bound=True)
    assert found.bound is not None and found.bound.bits < found.least.bits
    netlist = lower(found.program.graph, found.program.fabric)
    assert (
        found.bound.bits
        == found.floor
        == found.least.bits
        - sum(
            (depth - LEAST) * slot_bits(netlist, each)
            for each in netlist.channels
            if (depth := found.least.depths[each.name]) > LEAST
        )
    )
    assert re.fullmatch(
        r"reassemble 'gather' \(.*moe_simple.py:\d+\) takes tokens in order of arrival, "
        "so more room may make the program deadlock",
        str(found.bound.weak),
    )


def test_several_data_sets(tmp_path: Path) -> None:
    files = []
    for number, lengths in enumerate(((3, 14), (11, 2))):
        scaled(lengths).save(tmp_path / f"p{number}.json")
        files.append(tmp_path / f"p{number}.npz")
    both = step.size_fifos(scaled(), inputs=files)
    alone = [step.size_fifos(scaled(lengths)) for lengths in ((3, 14), (11, 2))]
    assert both.data == tuple(map(str, files)) and len(both.fewest) == 2
    for place, each in enumerate(alone):
        assert both.fewest[place] == each.fewest[0]
        assert both.least.bits >= each.least.bits
    assert max(both.least.depths.values()) == max(max(each.least.depths.values()) for each in alone)


def test_a_program_that_no_depths_help() -> None:
    graph = Graph("never")
    loop = graph.feedback(Tile(FP32), [3], name="loop")
    x = graph.source("x", Tile(FP32), [3]).map(Add(), loop.stream)
    x.sink("y")
    loop.close(x)  # its first token waits for itself
    with pytest.raises(Deadlock, match="no depths clear it: a token that is waited for is never made"):
        step.size_fifos(Program(graph, {"x": [1, 2, 3]}))


def test_channels_that_are_alike() -> None:
    """Those of equal experts are one group each, and none else."""
    program = load_program(EXAMPLES / "moe_simple.py")
    netlist = lower(program.graph, program.fabric)
    groups = alike(netlist)
    assert sorted(name for group in groups for name in group) == sorted(each.name for each in netlist.channels)
    several = [sorted(group) for group in groups if len(group) > 1]
    assert ["expert0_alone", "expert1_alone"] in several and ["route.0", "route.1"] in several
    for one, other in (group for group in several if group[0].startswith("expert0")):
        assert other == one.replace("expert0", "expert1")


# -- interrupted ----------------------------------------------------------------------------------------------------


def test_the_best_so_far(sizing: step.Sizing) -> None:
    found = step.size_fifos(scaled(), progress=interrupting("10 choices"))
    assert found.interrupted and found.runs == 10 and not sizing.interrupted
    assert sizing.lossless.bits < found.lossless.bits and found.lossless.cycles == (
        cycles(scaled(), found.lossless.depths),
    )
    assert found.front[0].bits == found.lossless.bits and found.within(0) == found.front[0]
    further = step.size_fifos(scaled(), begin=found.binding(found.lossless))
    assert not further.interrupted and further.lossless.bits == sizing.lossless.bits
    assert further.asked == sizing.asked


def test_the_least_that_keeps_the_cycles(sizing: step.Sizing) -> None:
    """With 10 slots everywhere the program ends, later than with the fewest cycles."""
    found = step.size_fifos(scaled(), fabric=FabricConfig(channel_depth=10))
    assert found.asked.cycles is not None and found.asked.cycles > found.fewest == sizing.fewest
    assert found.kept.cycles == found.asked.cycles and found.kept in found.front
    assert found.least.bits < found.kept.bits < found.lossless.bits < found.asked.bits
    assert sizing.kept == sizing.lossless  # the depths asked for deadlock


def test_an_end_after_some_choices(sizing: step.Sizing) -> None:
    found = step.size_fifos(scaled(), choices=12)
    assert not found.interrupted and found.runs <= 12 < sizing.runs
    assert found.lossless.cycles is not None and sizing.lossless.bits < found.lossless.bits
    with pytest.raises(InputError, match="choices must be an integer >= 1, not 0"):
        step.size_fifos(scaled(), choices=0)


def test_nothing_is_known_yet() -> None:
    with pytest.raises(KeyboardInterrupt):
        step.size_fifos(scaled(), progress=interrupting("1 choices"))


def test_progress_says_what_is_known(sizing: step.Sizing) -> None:
    said: list[str] = []
    step.size_fifos(scaled(), progress=said.append)
    (bits, (fewest,)) = sizing.lossless.bits, sizing.fewest
    assert said[:2] == ["channels that are never full", "1 choices of depths have run"]
    assert said[-1] == f"{sizing.runs} choices of depths have run; best so far: {fewest} cycles with {bits} bits"


def test_examples_lose_nothing() -> None:
    for name in ("softmax", "moe_simple"):
        found = step.size_fifos(EXAMPLES / f"{name}.py")
        assert found.asked.cycles is not None and found.asked.cycles >= found.fewest
        assert (cycles(found.program, found.lossless.depths),) == found.fewest


# -- files ----------------------------------------------------------------------------------------------------------


def test_a_binding_is_kept(sizing: step.Sizing, tmp_path: Path) -> None:
    path = tmp_path / "depths.json"
    sizing.binding(sizing.least).save(path)
    binding, program = DepthBinding.load(path), scaled()
    assert binding == sizing.binding(sizing.least)
    bound = binding.applied(program)
    assert program.graph.depths == {} and list(binding.doubts(program)) == []
    assert step.run(bound, "approx").cycles == sizing.least.cycles[0]  # type: ignore[index]
    assert step.run(bound, "interpret").result.outputs == step.run(program, "interpret").result.outputs
    bound.save(tmp_path / "bound.json")
    again = load_program(tmp_path / "bound.json")
    assert again == bound != program and again.graph.depths == dict(sizing.least.depths)
    assert json.loads(path.read_text())["data"] == [
        {"name": None, "digest": sizing.digests[0], "cycles": sizing.least.cycles[0]}  # type: ignore[index]
    ]


def test_what_a_binding_does_not_hold_for(sizing: step.Sizing) -> None:
    binding = sizing.binding(sizing.lossless)
    other = Program(scaled().graph, {"rows": [[1], [2]]}, FabricConfig(stages=1))
    assert list(binding.doubts(other)) == [
        "the depths were found for another fabric: they may lose cycles, or deadlock",
        "the depths were found for other data: they may lose cycles, or deadlock",
    ]
    with pytest.raises(FormatError) as caught:
        binding.applied(load_program(EXAMPLES / "softmax.py"))
    assert str(caught.value) == (
        "the depths are those of another program called scaled, or of softmax before it was changed: "
        "`step fifos` finds new ones"
    )


@cases(
    (lambda data: data.pop("depths"), "{path}: $: 'depths' is a required property"),
    (lambda data: data["depths"].update(y=0), "{path}: $.depths.y: 0 is less than the minimum of 1"),
    (lambda data: data["depths"].update(y="8"), "{path}: $.depths.y: '8' is not of type 'integer'"),
    (lambda data: data.update(format="step-binding-2"),
     f"{{path}} has the format step-binding-2 and was written by {written_by()}; this is {written_by()}, which "
     f"reads step-binding-1: pip install '{written_by().replace(' ', '>=')}'"),
)  # fmt: skip
def test_files_that_are_no_bindings(
    change: Callable[[dict[str, dict[str, object]]], None], message: str, sizing: step.Sizing, tmp_path: Path
) -> None:
    path = tmp_path / "depths.json"
    sizing.binding(sizing.least).save(path)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with raising(FormatError, message.format(path=path)):
        DepthBinding.load(path)


def test_depths_of_channels_that_do_not_exist() -> None:
    program = scaled()
    program.graph.depths = {"rowz": 4}
    with pytest.raises(FabricError, match=r"there is no channel 'rowz'; did you mean 'rows'[?] there are alone, "):
        step.run(program, "approx")
