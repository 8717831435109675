"""Tilings: steps of the depth give the bits of the whole depth; fused sums are the same on all engines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import step
import step_torch
from step.errors import InputError
from step.functions import Matmul
from step.lowering.netlist import lower
from step.ops.accum import Accum
from step_torch.generating import SMALL, LanguageModel
from step_torch.tiling import Tiling

HERE = Path(__file__).parent
PROMPT = [20, 8, 5, 2, 3]
COUNT = 4


@pytest.fixture(scope="module")
def tiny() -> LanguageModel:
    """The model of the examples."""
    return LanguageModel.load(Path(step.__file__).parents[1] / "examples" / "tiny_lm" / "model.pt2")


def written(program: step.Program, backend: str = "interpret") -> dict[str, bytes]:
    """Tokens of all steps, with the scores' bits in them as far as they decide, and both caches."""
    options = {"values": "all"} if backend != "interpret" else {}
    run = step.run(program, backend=backend, **options)
    assert {"tokens", "attention_cache_keys", "attention_cache_values"} <= set(run.outputs)
    return {name: np.asarray(each).tobytes() for name, each in run.outputs.items()}


@pytest.mark.parametrize(("columns", "depth"), [(8, 64), (16, 8), (64, 16), (16, 12), (23, 5)])
def test_steps_of_the_depth_give_the_same_bits(tiny: LanguageModel, columns: int, depth: int) -> None:
    meant = written(tiny.program(PROMPT, COUNT))
    assert written(tiny.program(PROMPT, COUNT, tiling=Tiling(columns=columns, depth=depth))) == meant


def test_products_side_by_side_give_the_same_bits(tiny: LanguageModel) -> None:
    program = tiny.program(PROMPT, COUNT, tiling=Tiling(depth=16, side_by_side=5))
    assert sum("product" in each.name for each in program.graph if isinstance(each.operator, Accum)) == 8 * 4
    assert written(program) == written(program, "approx") == written(tiny.program(PROMPT, COUNT))


@pytest.mark.parametrize("tiling", [Tiling(columns=32, sum="fused"), Tiling(columns=64, depth=16, sum="fused")])
def test_engines_agree(tiny: LanguageModel, tiling: Tiling) -> None:
    program = tiny.program(PROMPT, COUNT, tiling=tiling)
    products = [each.operator.function for each in program.graph if "product" in each.name]
    assert len(products) == 9 and {each.sum for each in products if isinstance(each, Matmul)} == {"fused"}
    assert written(program, "approx") == written(program)
    slow, fast = (
        step.run(program, backend="approx", values="all", engine=engine).result for engine in ("python", "compiled")
    )
    assert (slow.cycles, slow.channels, slow.operators) == (fast.cycles, fast.channels, fast.operators)


def test_weights_are_read_in_one_run(tiny: LanguageModel) -> None:
    """A tile of a block of columns lies behind the one above it, so their addresses count up from layer to layer."""
    program = tiny.program(PROMPT, COUNT, tiling=Tiling(columns=16, depth=16))
    (name,) = [each for each in program.inputs if "down_proj" in each]
    given = [tiny.archive.weights[f"layers.layers.{layer}.mlp.down_proj.weight"] for layer in range(2)]
    columns = [each.T[:, first : first + 16] for each in given for first in (0, 16)]
    assert np.array_equal(program.inputs[name], np.concatenate(columns))


def test_weights_are_on_their_way_before_their_row(tiny: LanguageModel) -> None:
    """The numbers of all layers come with their step, so a slow memory is seldom idle: its beats take 79 % of a run.

    They take 74 % where a row has to be there first.
    """
    memory = replace(SMALL.memory, interval=32)
    program = tiny.program(PROMPT, COUNT, tiling=Tiling(columns=64, depth=64), fabric=replace(SMALL, memory=memory))
    result = step.run(program, backend="approx").result
    beats = sum(each.beats for each in result.traffic.values())
    assert beats * memory.interval / memory.channels > 0.77 * result.cycles


@pytest.mark.parametrize("name", ["llama_prefill", "gpt2_prefill"])
def test_layers_are_as_exact(name: str) -> None:
    path = HERE / "captured" / f"{name}.pt2"
    meant = step_torch.load(path).check()
    for tiling in (Tiling(4, 32, depth=16), Tiling(4, 16, depth=32, held=False), Tiling(side_by_side=2)):
        assert step_torch.load(path, tiling=tiling).check() == meant
    assert step_torch.load(path, tiling=Tiling(columns=32, depth=16, sum="fused")).check().passed


def test_routed_experts_may_be_fused() -> None:
    fused = step_torch.load(HERE / "captured" / "qwen3moe_prefill.pt2", tiling=Tiling(sum="fused"))
    functions = [each.operator.function for each in fused.lowered.graph]
    assert {each.sum for each in functions if isinstance(each, Matmul)} == {"fused"}
    assert fused.check().passed


def test_sums_that_there_are_not() -> None:
    with pytest.raises(InputError, match=r"^Tiling needs sum to be \"ordered\" or \"fused\", not 'fast'$"):
        Tiling(sum="fast")  # type: ignore[arg-type]


def test_time_alone_needs_no_values(tiny: LanguageModel) -> None:
    """Two cycles a token more, as that behind a score is made anew; nothing but addresses and turns is computed.

    Behind token 0 it is up to ten more for the next one: its row is in a channel of memory that weights come from, too.
    """
    timed, whole = (tiny.program(PROMPT, 1, values=each) for each in (False, True))
    assert step.run(timed, backend="approx").cycles == step.run(whole, backend="approx").cycles + 2
    timed, whole = (tiny.program(PROMPT, COUNT, values=each) for each in (False, True))
    more = step.run(timed, backend="approx").cycles - step.run(whole, backend="approx").cycles
    assert 2 * COUNT <= more <= 2 * COUNT + 10 * (COUNT - 1)
    deciding = lower(timed.graph, timed.fabric).deciding
    assert {"token", "position"} < deciding and not [name for name in deciding if "product" in name]
    assert all(each.base is not None and not each.any() for name, each in timed.inputs.items() if "weight" in name)
