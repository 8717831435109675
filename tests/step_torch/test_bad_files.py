"""What is wrong with a captured module is said: which file, what, and what would be right."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from broken import MODEL, Members, edited, rewritten
from cases import cases
from raising import raising

import step
import step_torch
from step.errors import EnvironmentProblem, FormatError, InputError

LLAMA = Path(__file__).parent / "captured" / "llama_prefill.pt2"
DATA = "archive/data/weights/weight_6"
CONFIG = "archive/data/weights/model_weights_config.json"
DOWN = "layers.0.mlp.down_proj.weight"


def without(count: int) -> str:
    """The first line about so many operators."""
    operators = f"{count} operator{'s' * (count > 1)}"
    return f"'FILE' has {operators} without a lowering (docs/torch.md says how to add one):\n"


def complaint(path: Path, kind: type[Exception] = FormatError, **options: Any) -> str:
    """What `load` says of ``path``."""
    with pytest.raises(kind) as caught:
        step_torch.load(path, **options)
    return str(caught.value).replace(str(path), "FILE")


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    assert complaint(path) == "there is no file 'FILE'"
    for content, said in (
        (b"no archive", "is no .pt2 file: a .pt2 file is a zip archive; step_torch.capture writes one"),
        (LLAMA.read_bytes()[:20_000], "is cut off or damaged: File is not a zip file"),
    ):
        path.write_bytes(content)
        assert complaint(path) == f"'FILE' {said}"


def of_format(number: int) -> Callable[[Any], None]:
    """A weight has the format with this number."""
    return lambda config: config["config"][DOWN]["tensor_meta"].update(dtype=number)


def like_others(model: Any) -> None:
    """Three operators are called in another way."""
    for node in nodes_of(model):
        if node["outputs"] and node["outputs"][0].get("as_tensor", {}).get("name") in ("silu", "mean", "rsqrt_1"):
            node["target"] = f"torch.ops.aten.{node['target'].split('.')[3]}_like.default"


def nodes_of(model: Any, op: str = "") -> list[Any]:
    return [node for node in model["graph_module"]["graph"]["nodes"] if node["target"].startswith(f"torch.ops.{op}")]


def one_more_argument(model: Any) -> None:
    (silu,) = nodes_of(model, "aten.silu.default")
    silu["inputs"].append({"name": "limit", "arg": {"as_int": 6}, "kind": 2})


def in_place(model: Any) -> None:
    """A change that gives no value, as torch.export alone leaves it."""
    (silu,) = nodes_of(model, "aten.silu.default")
    change = {**silu, "target": "torch.ops.aten.silu_.default", "outputs": []}
    model["graph_module"]["graph"]["nodes"].insert(0, change)


def wide(model: Any) -> None:
    model["graph_module"]["graph"]["tensor_values"]["silu"]["dtype"] = 8


LLAMA_PY = "transformers/models/llama/modeling_llama.py"
ACT = "transformers/activations.py:103, in layers.0.mlp.act_fn"
LINEAR = f"  aten.linear.default at {LLAMA_PY}:164, in layers.0.mlp.down_proj: parameter '{DOWN}' is"
TO_BF16 = "not bfloat16: call .to(torch.bfloat16) on the module before step_torch.capture"

EDITED: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "another version": (
        lambda model: model.update(schema_version={"major": 9, "minor": 1}, torch_version="3.0"), MODEL,
        "'FILE' has schema 9.1 of torch.export, by torch 3.0; what can be read is schema 8: capture the module again "
        "with torch 2.13",
    ),
    "a weight of an unknown format": (
        of_format(35), CONFIG,
        f"'FILE': '{DOWN}' has format 35, which is none of uint8, int8, int16, int32, int64, float16, float32, "
        "float64, bool, bfloat16, float8_e4m3fn, float8_e5m2",
    ),
    "a weight that is not bfloat16": (of_format(6), CONFIG, f"{without(1)}{LINEAR} float16, {TO_BF16}"),
    "operators without a lowering": (
        like_others, MODEL,
        f"{without(3)}  aten.mean_like.default at {LLAMA_PY}:65, in layers.0.input_layernorm\n"
        f"  aten.rsqrt_like.default at {LLAMA_PY}:66, in layers.0.post_attention_layernorm\n"
        f"  aten.silu_like.default at {ACT}",
    ),
    "one more argument": (
        one_more_argument, MODEL,
        f"{without(1)}  aten.silu.default at {ACT}: its lowering does not take these arguments: got an "
        "unexpected keyword argument 'limit'",
    ),
    "a change in place": (
        in_place, MODEL,
        f"aten.silu_.default changes a tensor in place, at {ACT}: step_torch.capture(torch.export.load(path).module(), "
        "args, ..) takes that apart",
    ),
    "a result that no stream has": (
        wide, MODEL,
        f"{without(1)}  aten.silu.default at {ACT}: its result is float64, and streams have bfloat16, float32, "
        "bool, int64, int32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITED)
def test_a_file_with_something_else(name: str, tmp_path: Path) -> None:
    change, member, said = EDITED[name]
    kind = InputError if "lowering" in said or "in place" in said else FormatError
    assert complaint(edited(LLAMA, tmp_path / "model.pt2", change, member), kind) == said


@cases(
    (lambda members: members.pop(MODEL) and None,
     "'FILE' is no .pt2 file of torch.export: it lacks models/model.json, the exported program"),
    (lambda members: members.pop(DATA) and None,
     f"'FILE' lacks data/weights/weight_6, the data of '{DOWN}': capture the module again"),
    (lambda members: members.update({DATA: members[DATA][:-2]}),
     f"'FILE': '{DOWN}' is bfloat16[32, 64] of 4,096 bytes, but data/weights/weight_6 has 4,094"),
)  # fmt: skip
def test_members_that_are_missing_or_short(change: Callable[[Members], None], said: str, tmp_path: Path) -> None:
    assert complaint(rewritten(LLAMA, tmp_path / "model.pt2", change)) == said


@pytest.mark.parametrize(("number", "kind"), [(2, "int8"), (1, "uint8"), (12, "bool"), (29, "float8_e4m3fn")])
def test_a_weight_of_eight_bits(number: int, kind: str, tmp_path: Path) -> None:
    """`.to(torch.bfloat16)` would leave integers."""
    path = rewritten(LLAMA, tmp_path / "half.pt2", lambda members: members.update({DATA: members[DATA][:2048]}))
    integers = (
        "not bfloat16: its .to() leaves integers, so store its values (those of weights times their scales) so before "
        "step_torch.capture"
    )
    said = f"{without(1)}{LINEAR} {kind}, {TO_BF16 if 'float' in kind else integers}"
    assert complaint(edited(path, tmp_path / "model.pt2", of_format(number), CONFIG), InputError) == said


def test_extents_that_break_a_tile() -> None:
    """Tiles have another number of rows, and the import says so."""
    shapes = {"x": (1, 18, 32), "rest_0": (1, 18, 16), "rest_1": (1, 18, 16)}
    data = {name: np.ones(shape, ml_dtypes.bfloat16) for name, shape in shapes.items()}
    imported = step_torch.load(LLAMA, inputs=data, tiling=step_torch.Tiling(4))
    assert imported.notes == step_torch.load(LLAMA, inputs=data).notes
    assert imported.notes[0] == (
        "axis 1 of 'x' is 18, which tiles of 4 rows do not divide: they have 3; the axis is dynamic, and other "
        "extents may have other tiles"
    )
    assert np.asarray(step.run(imported.lowered, backend="interpret").outputs["output"]).size == 18 * 32


@cases(
    ({"y": np.ones((1, 16, 32))}, "the module has no input 'y'; it has x, rest_0, rest_1"),
    ({"x": np.ones((16, 32))}, "input 'x' has 3 dimensions, not 2"),
    ({"x": np.ones((1, 16, 48))}, "axis 2 of input 'x' is 32 in all captures, not 48: name it in dynamic_shapes"),
    ({"x": np.ones((1, 20, 32))}, "axis 1 of input 'rest_0' is 16, but must be 20, as that of another input"),
)
def test_inputs_that_do_not_fit(inputs: dict[str, np.ndarray], said: str) -> None:
    assert complaint(LLAMA, InputError, inputs=inputs) == said


def test_nothing_to_compare_with(tmp_path: Path) -> None:
    def change(members: Members) -> None:
        members.pop("archive/data/step/results.npz")

    path = rewritten(LLAMA, tmp_path / "model.pt2", change)
    assert complaint(path, InputError) == "there is no data for input 'x': give inputs={'x': ...}"
    data = {"x": np.ones((1, 16, 32)), "rest_0": np.ones((1, 16, 16)), "rest_1": np.ones((1, 16, 16))}
    with raising(InputError, f"'{path}' has no results of torch to compare with: step_torch.capture stores them"):
        step_torch.load(path, inputs=data).check()


def test_a_model_that_is_too_large_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before the weights are read."""
    monkeypatch.setattr("step.host.memory.free_bytes", lambda: 10_000)
    monkeypatch.setattr("step_torch.archive._ArchiveReader._weight", None)
    assert complaint(LLAMA, EnvironmentProblem) == (
        "a program with the 0.0 GB of weights of 'FILE' takes at least 0.0 GB of memory, and 0.0 GB are free; capture "
        "fewer layers (step_torch.Layers(model, COUNT)), or take a machine with more"
    )


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
@pytest.mark.parametrize("name", ["capture", "Layers", "tables"])
def test_torch_is_not_installed(name: str) -> None:
    with raising(
        EnvironmentProblem, f"step_torch.{name} needs torch, which is not installed: pip install 'step-fabric[torch]'"
    ):
        getattr(step_torch, name)
