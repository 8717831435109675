"""What lowerings take of the arguments of their operators: all of it is named, and anything else is refused."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from single import Format, Name, Operator, bf16, written

import step
import step_torch
from step.errors import InputError
from step_torch.importing import IDLE
from step_torch.registry import lowerings

X, W, B = Name("x"), Name("w"), Name("b")
SHAPE = (8, 16)


def test_every_argument_has_a_name() -> None:
    """None is swallowed by `*rest` or `**options`."""
    for op, lowering in lowerings().items():
        kinds = {each.kind for each in inspect.signature(lowering).parameters.values()}
        assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}, op


@pytest.mark.torch
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_arguments_are_those_of_torch() -> None:
    """As many in order as torch has, and those by name with its names: a lowering leaves out none but idle ones."""
    import torch

    import step_torch.capturing  # noqa: F401 - it registers all operators of our own

    for op, lowering in lowerings().items():
        if op == "higher_order.scan":
            continue  # it has no schema
        kind, name, overload = op.split(".")
        schema = getattr(getattr(getattr(torch.ops, kind), name), overload)._schema.arguments
        own = list(inspect.signature(lowering).parameters.values())[1:]
        ordered = [each for each in own if each.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD]
        named = {each.name for each in own if each.kind == inspect.Parameter.KEYWORD_ONLY}
        assert len(ordered) >= sum(not each.kwarg_only for each in schema), op
        known = named | {each.name for each in ordered}
        assert {each.name for each in schema if each.kwarg_only} <= {*known, *IDLE}, op


def one(op: str, *args: Any, shape: Sequence[int] = SHAPE, result: str = "bfloat16", **options: Any) -> list[Operator]:
    """A single operator, whose result has this shape and format."""
    return [Operator(op, args, {"y": (result, shape)}, options)]


def heads(query: Sequence[int], key: Sequence[int], value: Sequence[int], dtype: str = "bfloat16") -> dict[str, Any]:
    """Inputs of attention."""
    return {
        name: bf16(*shape, seed=at) for at, (name, shape) in enumerate(zip("qkv", (query, key, value), strict=True))
    }


Q = (1, 2, 8, 16)
SDPA, MARK = "aten.scaled_dot_product_attention.default", "step.attention.default"
QKV = (Name("q"), Name("k"), Name("v"))
WEIGHTS = {
    "w": bf16(16, 16, seed=1), "b": bf16(16, seed=2), "matrix": bf16(8, 16, seed=3),
    "gate_up": bf16(16, 32, 16, seed=5), "down": bf16(16, 16, 16, seed=6),
}  # fmt: skip

REFUSED: list[tuple[list[Operator], dict[str, Any], str]] = [
    (one("aten.pow.Scalar", -2, X), {}, "the base is -2; finite ones above 0 have a lowering"),
    (one("aten.bitwise_and.Tensor", X, X), {}, "it goes over the bits of bfloat16; those of bool have a lowering"),
    (one("aten.pow.Tensor_Scalar", X, float("inf")), {}, "the exponent is inf; a finite one has a lowering"),
    (one("aten.pow.Scalar", float("inf"), X), {}, "the base is inf; finite ones above 0 have a lowering"),
    (one("aten.var.correction", X, [1], correction=16, shape=(8,)), {},
     "16 along it, and a correction of 16; more than the correction have a lowering"),
    (one("aten.avg_pool2d.default", Name("i"), [2, 2], shape=(4, 2, 2)), {"inputs": {"i": bf16(4, 4, 4)}},
     "an image without a batch; [batch, channels, *space] has a lowering: x.unsqueeze(0)"),
    (one("aten._to_copy.default", W, result="float16", dtype=Format("float16")), {},
     "its result is float16, and streams have bfloat16, float32, bool, int64, int32"),
    (one("aten.layer_norm.default", X, [16], None, None, 1e-5, True, 3), {},
     "its lowering does not take these arguments: too many positional arguments"),
    (one("aten.linear.default", X, W, result="float16"), {},
     "its result is float16, and streams have bfloat16, float32, bool, int64, int32"),
    (one("aten.addmm.default", B, X, W, beta=0.5, alpha=2), {}, "beta is 0.5 and alpha 2; 1 and 1 have a lowering"),
    (one("aten.embedding.default", Name("x"), Name("i")), {"inputs": {"i": np.zeros((1, 1), np.int64)}},
     "the table is no parameter of the module"),
    (one(SDPA, *QKV, None, 0.1, True, shape=Q), {"inputs": heads(Q, Q, Q)},
     "it drops 0.1 of its weights, and only attention that drops none has a lowering"),
    (one(SDPA, *QKV, None, 0.0, True, shape=(1, 2, 4, 16)), {"inputs": heads((1, 2, 4, 16), Q, Q)},
     "is_causal of 4 queries and 8 keys hides those behind a query's own number, all new ones of a cache; as many keys "
     "as queries, or a mask, has a lowering"),
    (one(MARK, *QKV, 0.25, shape=(1, 3, 8, 16)), {"inputs": heads((1, 3, 8, 16), Q, Q)},
     "3 heads of queries can not share 2 heads of keys"),
    (one(MARK, *QKV, 0.25, shape=(1, 4, 8, 16)), {"inputs": heads((1, 4, 8, 16), Q, (1, 4, 8, 16))},
     "queries [1, 4, 8, 16], keys [1, 2, 8, 16] and values [1, 4, 8, 16]; [batch, heads, rows, size] with "
     "as many keys as values has a lowering"),
    (one(MARK, *QKV, 0.25, None, None, False, 3, shape=Q), {"inputs": heads(Q, Q, Q)},
     "a window of rows that are not causal; a mask has a lowering"),
    (one(MARK, *QKV, 0.25, shape=Q, result="float32"), {"inputs": heads(Q, Q, Q)},
     "its result is float32; bfloat16 has a lowering"),
]  # fmt: skip


def loaded(path: Path, operators: list[Operator], more: dict[str, Any]) -> step_torch.Imported:
    """The program of these operators."""
    read = {each.name for node in operators for each in node.args if isinstance(each, Name)}
    inputs = {**({"x": bf16(*SHAPE)} if "x" in read else {}), **more.get("inputs", {})}
    weights = {name: each for name, each in WEIGHTS.items() if name in read}
    return step_torch.load(written(path / "model.pt2", operators, inputs, weights))


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused(number: int, tmp_path: Path) -> None:
    operators, more, said = REFUSED[number]
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, operators, more)
    assert str(caught.value).endswith(f", in the module itself: {said}"), str(caught.value)


def result(path: Path, operators: list[Operator], **more: Any) -> np.ndarray:
    """What the interpreter makes of them."""
    imported = loaded(path, operators, more)
    run = step.run(imported.program, backend="interpret")
    return np.asarray(run.outputs["output"], np.float64).reshape(imported.nodes.metas["y"].shape)


def softmax(x: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def test_arguments_that_are_taken(tmp_path: Path) -> None:
    """Close to what they mean."""
    x, w, b = (each.astype(np.float64) for each in (bf16(*SHAPE), WEIGHTS["w"], WEIGHTS["b"]))
    norm = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 10)
    tanh = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    cases: list[tuple[list[Operator], np.ndarray]] = [
        (one("aten.add.Tensor", X, Name("matrix"), alpha=1), x + WEIGHTS["matrix"].astype(np.float64)),
        (one("aten.gelu.default", X, approximate="tanh"), tanh),
        (one("aten.softmax.int", X, 1), softmax(x)),
        (one("aten.softmax.int", X, -1, Format("float32"), result="float32"), softmax(x)),
        (one("aten._softmax.default", X, -1, False), softmax(x)),
        (one("aten.layer_norm.default", X, [16], None, B, 10.0, False), norm + b),
        (one("aten.layer_norm.default", X, [16], B, None, 10.0), norm * b),
        (one("aten.mean.dim", X, [1], True, shape=(8, 1), result="float32"), x.mean(-1, keepdims=True)),
        (one("aten.addmm.default", B, X, W, beta=1, alpha=1), x @ w + b),
        (one("aten.clone.default", X, memory_format=0), x),
        (one("aten._to_copy.default", X, dtype=Format("int32"), result="int32"), np.trunc(x)),
        (one("aten.expand.default", X, [8, -1], implicit=False), x),
    ]
    for operators, meant in cases:
        assert np.allclose(result(tmp_path, operators), meant, rtol=0.02, atol=0.02), operators


def test_a_cast_of_an_input_rounds(tmp_path: Path) -> None:
    """float32 data is not bfloat16 before it is cast."""
    wide = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    operators = [
        Operator("aten._to_copy.default", [X], {"r": ("bfloat16", SHAPE)}, {"dtype": Format("bfloat16")}),
        Operator("aten._to_copy.default", [Name("r")], {"y": ("float32", SHAPE)}, {"dtype": Format("float32")}),
    ]
    mine = result(tmp_path, operators, inputs={"x": wide})
    assert np.array_equal(mine, wide.astype(bf16(1).dtype).astype(np.float64))


def test_chosen_entries_in_a_list(tmp_path: Path) -> None:
    """What a router chose, beside other tensors: in a list it is as they are."""
    x, largest = bf16(*SHAPE), {"t": ("bfloat16", (8, 2)), "n": ("int64", (8, 2))}
    top, both = Operator("aten.topk.default", (X, 2), largest), [Name("t"), X]
    made = result(tmp_path, [top, *one("aten.cat.default", both, 1, shape=(8, 18))], inputs={"x": x})
    exact = x.astype(np.float64)
    np.testing.assert_array_equal(made, np.concatenate([-np.sort(-exact)[:, :2], exact], 1))
