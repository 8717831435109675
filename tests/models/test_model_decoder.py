"""Decoder layers of a small model: outputs of one and of several layers, layouts, and what does not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised
from running_models import assert_runs, error_of

from step.errors import InputError
from step.running.interpreter import interpret
from step_models import Configuration, configuration, decoder, layer_routings, measured_routing, sampled_routing
from step_models.decoder import Schedule

SMALL = Configuration(
    "small", layers=2, hidden=32, inner=32, experts=4, experts_per_token=2, query_heads=4, key_value_heads=2,
    head_size=16,
)  # fmt: skip
LENGTHS = np.array([3, 0, 7, 5])


def routings(layers: int, tokens: int = 4) -> list[np.ndarray]:
    return [sampled_routing(tokens, SMALL.experts, SMALL.experts_per_token, seed=seed) for seed in range(layers)]


SCHEDULES = {
    "plain": Schedule(),
    "weights on chip, in parts": Schedule(held=True, depth=16, rows=2),
    "experts on tiles of dynamic size": Schedule(expert_rows=None),
    "experts and attention on tiles of dynamic size": Schedule(expert_rows=None, cache_rows=None),
    "experts by turns, coarse attention": Schedule(expert_regions=2, arrangement="coarse"),
    "interleaved attention, one row a tile": Schedule(arrangement="interleaved", rows=1, expert_rows=1, cache_rows=8),
}


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_a_layer(schedule: Schedule) -> None:
    assert_runs(decoder.program(SMALL, LENGTHS, routings(1), schedule))


def test_layers_one_behind_the_other() -> None:
    program = decoder.program(SMALL, LENGTHS, routings(3))
    assert_runs(program)
    first = decoder.program(SMALL, LENGTHS, routings(1))
    assert (first.expected["output"] != program.expected["output"]).all()


@pytest.mark.parametrize("heads", [(1, 1), (4, 4), (6, 2)])
def test_other_heads(heads: tuple[int, int]) -> None:
    model = replace(SMALL, query_heads=heads[0], key_value_heads=heads[1])
    assert_runs(decoder.program(model, LENGTHS, routings(1)))


REPEATED = ("wk", "wv", "attention_norm", "expert1_up")


@pytest.mark.parametrize(
    "tensor", ["wq", "wo", "experts_norm", "keys", *(pytest.param(each, marks=pytest.mark.slow) for each in REPEATED)]
)
def test_every_weight_counts(tensor: str) -> None:
    """Another one gives another result."""
    program = decoder.program(SMALL, LENGTHS, routings(1))
    program.inputs[tensor] = (-program.inputs[tensor].astype(np.float64)).astype(program.inputs[tensor].dtype)
    assert error_of(program, interpret(program.graph, program.inputs).outputs) > 1


@pytest.mark.parametrize("name", ["Mixtral-8x7B", "Qwen3-30B-A3B"])
def test_the_models_in_full_size(name: str) -> None:
    """All layers build, one by one; the weights are those of the model: routed ones by themselves are read at most once
    per tile."""
    model = configuration(name)
    lengths, chosen = np.full(64, 1000), layer_routings(model, 64)
    schedule = Schedule(rows=64, columns=64, expert_rows=64, cache_rows=32, regions=4)
    program = decoder.program(model, lengths, chosen[:1], schedule, values=False)
    weights = sum(
        array.size for tensor, array in program.inputs.items() if tensor.endswith(("_gate", "_up", "_down", "wq", "wo"))
    )
    width = model.query_heads * model.head_size
    assert weights == 3 * model.experts * model.hidden * model.inner + 2 * model.hidden * width
    assert len(chosen) == model.layers


@cases(
    ("Mixtral-8x7B", 64, 10, "mixtral_b64"),
    ("Mixtral-8x7B", 1024, 9, "mixtral_b1024"),
    ("Qwen3-30B-A3B", 64, 12, "qwen_b64"),
    ("Qwen3-30B-A3B", 1024, 16, "qwen_b1024"),
)
def test_layers_have_the_measured_routing_where_there_is_one(name: str, tokens: int, layer: int, trace: str) -> None:
    model = configuration(name)
    found = layer_routings(model, tokens)
    assert (found[layer] == measured_routing(trace, model.experts)).all()
    assert len({each.tobytes() for each in found}) == model.layers
    assert (found[0] == sampled_routing(tokens, model.experts, model.experts_per_token)).all()


@cases(
    ({"routings": []}, "a decoder must have at least one layer: give a routing for each of them"),
    ({"routings": [*routings(1), np.array([[0, 4]] * 4)]},
     "routing of layer 1: expert ids must be 0 to 3, but go from 0 to 4"),
    ({"routings": [np.array([[0], [1], [2], [3]])]}, "routing of layer 0 must have 2 experts a token, not 1"),
    ({"routings": routings(1, 3)}, "routing of layer 0 must have a row for each of the 4 KV lengths, not 3"),
    ({"room": 4},
     "KV lengths must be below the 4 rows of the cache, which has to take the new row, too, but request 2 has 7"),
    ({"schedule": Schedule(rows=3)}, "rows, the rows of a tile, must divide the number of tokens = 4, but 3 does not"),
    ({"schedule": Schedule(depth=24)},
     "depth, the extent of a weight tile along its rows, must divide hidden = 32, but 24 does not"),
    ({"schedule": Schedule(columns=64)},
     "columns, the extent of a weight tile, must divide hidden = 32, but 64 does not"),
    ({"schedule": Schedule(expert_regions=3)}, "4 experts can not be dealt evenly to 3 regions; possible are 1, 2, 4"),
    ({"schedule": Schedule(regions=0)}, "attention needs at least one region, not 0"),
)  # fmt: skip
def test_what_does_not_fit(arguments: dict[str, Any], message: str) -> None:
    error = raised(InputError, lambda: decoder.program(SMALL, LENGTHS, **{"routings": routings(1), **arguments}))
    assert error == message
