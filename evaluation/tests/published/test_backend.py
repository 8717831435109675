"""The back end ``published``: what it takes, what it refuses, and what it reports."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import step
from sim_published import ops
from sim_published.backend import run
from sim_published.profile import Hbm, PublishedProfile
from step import BF16, FP32, UINT32, Graph, Program, Tile
from step.errors import Deadlock, FabricError, InputError, StreamFault
from step.functions import Add, CacheTiles, CountFrom
from step.language.operator import OPERATORS
from step_cli.verbs.run import command


def chain() -> Graph:
    graph = Graph("chain")
    x = graph.load(graph.tensor("x", (4, 32), BF16), tile=(1, 32), name="load")
    x.accum(Add(), rank=2, name="sum").store("y")
    return graph


def test_a_chain_takes_what_the_rules_say() -> None:
    """Four loads of a request (19 each), a hop, the last addition and its store, a hop, the store and the end."""
    assert run(chain(), {}).cycles == 4 * 19 + 1 + 1 + 1 + 19 + 2


@pytest.mark.parametrize(("depth", "blocked"), [(1, 3 * 20 + 1), (2, 20 + 18), (3, 19), (4, 0)])
def test_where_an_operator_blocks(depth: int, blocked: int) -> None:
    """A store takes 19 cycles and then frees the slot, which is taken in the next one; the flatten sends at once."""
    graph = Graph("full")
    graph.source("x", Tile(BF16, 1, 32), [4, 1]).flatten(0, 1).store("y")
    found = run(graph, {"x": np.zeros((4, 1, 1, 32))}, profile=PublishedProfile(channel_depth=depth)).operators[
        "flatten_0"
    ]
    assert (found.busy, found.starved, found.blocked) == (0, 3, blocked)


def test_a_repeat_is_one_context() -> None:
    """Its chunks of one are not a context of their own, with slots of its own: what is before it blocks for so long."""
    graph = Graph("repeated")
    x = graph.source("x", Tile(BF16, 1, 32), [8, 1]).flatten(0, 1)
    x.repeat(2).store("y")
    found = run(graph, {"x": np.zeros((8, 1, 1, 32))}, profile=PublishedProfile(channel_depth=1))
    assert set(found.operators) == {"x", "flatten_0", "expand_0", "y"}
    assert (found.cycles, found.operators["flatten_0"].blocked) == (339, 275)


def test_it_is_found_by_name_and_gives_activities() -> None:
    found = step.run(Program(chain(), {"x": np.zeros((4, 32))}), "published")
    assert found.result.backend == "published"
    spent = [each.busy + each.starved + each.blocked + each.finished for each in found.result.operators.values()]
    assert set(spent) == {found.cycles}


def test_an_operator_without_published_timing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim_published.ops.find_module", lambda package, name: None)
    with pytest.raises(FabricError, match=r"load 'load' \(.*\): the published simulator has no operator '.*load'$"):
        run(chain(), {})


def test_tensors_do_not_decide() -> None:
    graph = Graph("indirect")
    addresses = graph.load(graph.tensor("at", (1, 3), UINT32), tile=(1, 1), name="addresses")
    addresses.load_random(graph.tensor("x", (8, 8), BF16), tile=(1, 8)).sink("y")
    with pytest.raises(FabricError) as error:
        run(graph, {})
    assert str(error.value).endswith(
        "the published profile does not know what tensors hold, so Tile(UINT32, 1, 1) can not come from one; "
        "give it as a source"
    )


def test_a_source_needs_its_input() -> None:
    graph = Graph("plays")
    graph.source("x", Tile(FP32), [3]).sink("y")
    with pytest.raises(InputError, match=re.escape("there is no input 'x', which the program needs")):
        run(graph, {})


@pytest.mark.parametrize(
    "make", [lambda: PublishedProfile(channel_depth=0), lambda: PublishedProfile(hbm=Hbm(channels=0))]
)
def test_a_profile_is_checked(make: object) -> None:
    with pytest.raises(FabricError, match=r"^channel.* of the published profile must be an integer >= 1, not 0$"):
        make()  # type: ignore[operator]


def test_a_deadlock_names_who_waits() -> None:
    graph = Graph("stuck")
    x = graph.source("x", Tile(FP32), [4])
    first, second = x.partition(graph.turns(2, dims=[4], name="turns"), targets=2, name="split")
    second.sink("b")
    loop = graph.feedback(Tile(FP32), first.shape, name="loop")
    made = first.map(Add(), loop.stream, name="sum")
    loop.close(made)
    made.sink("a")
    with pytest.raises(Deadlock, match=r"^nothing moves any more; these wait: .*\bsum\b") as error:
        run(graph, {"x": [1.0, 2.0, 3.0, 4.0]}, profile=PublishedProfile(channel_depth=1))
    assert error.value.result is not None and error.value.result.status == "deadlock"


def test_a_stream_that_breaks_a_contract_is_a_fault() -> None:
    graph = Graph("outside")
    number = graph.source("number", Tile(UINT32), [1])
    tiles = graph.source("tiles", Tile(UINT32), [1])
    number.flat_map(CacheTiles(1, 4, 1), tiles, name="address").sink("y")
    with pytest.raises(StreamFault, match=r"^flat_map 'address' \(.*\): a request has to be one of 0 to 0, and"):
        run(graph, {"number": [0], "tiles": [9]})


def test_known_numbers_go_through_a_reshape() -> None:
    graph = Graph("repeats")
    number = graph.source("number", Tile(UINT32), [2]).repeat(2, name="again")
    number.flat_map(CountFrom(), number, name="counted").sink("y")
    assert run(graph, {"number": [1, 2]}).status == "finished"


def test_buffers_and_scans_have_times_of_their_own() -> None:
    """A cycle for each element into a buffer and out of it; a scan computes with each, as an Accum does."""
    graph = Graph("again")
    x = graph.load(graph.tensor("x", (4, 32), BF16), tile=(1, 32), name="load")
    x.bufferize(rank=2).streamify(count=3).scan(Add(), rank=2, name="sums").sink("y")
    plain = Graph("once")
    plain.load(plain.tensor("x", (4, 32), BF16), tile=(1, 32), name="load").sink("y")
    assert run(graph, {}).cycles == run(plain, {}).cycles + 1 + (12 + 1) + (1 + 1)


def test_an_element_that_is_expanded_to_nothing() -> None:
    """An empty of the rank of the chunks is one of them; one above it has no element beside it."""
    graph = Graph("rows")
    shape = [graph.symbol("M"), graph.symbol("N", ragged=True), graph.symbol("R", ragged=True)]
    reference = graph.source("reference", Tile(FP32), shape)
    x = graph.source("x", Tile(FP32), [*shape[:2], 1])
    x.expand(reference, name="expanded").sink("y")
    found = run(graph, {"x": [[[1.0], [2.0]], [], [[3.0]]], "reference": [[[1.0, 2.0], []], [], [[3.0]]]})
    assert found.status == "finished" and found.channels["expanded"].tokens == 2 + 1 + 1 + 1 + 1


def test_the_command_line_has_it() -> None:
    done = CliRunner().invoke(command, ["examples/swiglu.py", "--backend", "published", "--json"])
    assert done.exit_code == 0 and '"backend": "published"' in done.output


def test_what_a_profile_is() -> None:
    with pytest.raises(InputError, match=re.escape("profile must be a PublishedProfile, not 5")):
        step.run(chain(), "published", profile=5)


def test_every_operator_has_its_time() -> None:
    there = {each.stem for each in Path(ops.__file__).parent.glob("*.py")}
    assert {name for name, each in OPERATORS.items() if each.__module__.startswith("step.ops.")} <= there
