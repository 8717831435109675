"""Results as data: the counters, and the file format."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cases import cases
from filing import filed
from scenarios import FABRIC, SCENARIOS, Scenario
from test_scenarios import texts

from sim_approx.backend import run
from step.errors import FabricError, FormatError, InputError
from step.language.graph import Graph
from step.lowering.netlist import lower
from step.programs.files.json_file import schema, validate
from step.running.result import RunResult

SOME = SCENARIOS[::9]


def result_of(scenario: Scenario) -> RunResult:
    return run(*scenario.lowered(), values="all", events=True)


@pytest.mark.parametrize("scenario", SOME, ids=str)
def test_round_trip(scenario: Scenario, tmp_path: Path) -> None:
    result = result_of(scenario)
    result.save(tmp_path / "result.json")
    validate(json.loads((tmp_path / "result.json").read_text()), "result", "test")
    loaded = RunResult.load(tmp_path / "result.json")
    assert result.outputs is not None and loaded.outputs is not None
    assert texts(loaded.outputs) == texts(result.outputs)
    plain = {"outputs": None, "events": None}
    assert replace(loaded, **plain) == replace(result, **plain)
    assert loaded.to_json() == result.to_json()


def test_schema_is_closed() -> None:
    def objects(part: object) -> list[dict[str, object]]:
        if isinstance(part, list):
            return [each for item in part for each in objects(item)]
        if isinstance(part, dict):
            own = [part] if "properties" in part else []
            return own + [each for item in part.values() for each in objects(item)]
        return []

    assert str(schema("result")["$id"]).endswith("result-1.json")
    assert all(each["additionalProperties"] is False for each in objects(schema("result")))


@cases(({"status": "odd"}, r"\$\.status"), ({"extra": 1}, "extra"), ({"cycles": -1}, r"\$\.cycles"))
def test_bad_files(change: dict[str, object], message: str, tmp_path: Path) -> None:
    path = filed(tmp_path / "result.json", json.dumps({**result_of(SCENARIOS[0]).to_json(), **change}))
    with pytest.raises(FormatError, match=message):
        RunResult.load(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no file"):
        RunResult.load(tmp_path / "nothing.json")


def test_netlist_and_graph_give_the_same(graph: Graph) -> None:
    inputs = SCENARIOS[0].build(graph)
    netlist = lower(graph, FABRIC)
    assert run(netlist, inputs).cycles == run(graph, inputs, FABRIC).cycles
    with pytest.raises(FabricError, match="another fabric"):
        run(netlist, inputs, replace(FABRIC, channel_depth=7))


def test_values_option(graph: Graph) -> None:
    inputs = SCENARIOS[0].build(graph)
    with pytest.raises(InputError, match='must be "control" or "all"'):
        run(graph, inputs, FABRIC, values="some")  # type: ignore[arg-type]
