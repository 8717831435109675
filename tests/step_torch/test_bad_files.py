"""What is wrong with a captured module is said: which file, what, and what would be right."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from broken import Members, edited, rewritten
from raising import raising

import step
import step_torch
from step.errors import EnvironmentProblem, FormatError, InputError

LLAMA = Path(__file__).parent / "captured" / "llama_prefill.pt2"
DATA = "archive/data/weights/weight_6"
CONFIG = "archive/data/weights/model_weights_config.json"
DOWN = "layers.0.mlp.down_proj.weight"


def complaint(path: Path, kind: type[Exception] = FormatError, **options: Any) -> str:
    """What `load` says of ``path``."""
    with pytest.raises(kind) as caught:
        step_torch.load(path, **options)
    return str(caught.value).replace(str(path), "FILE")


def test_no_zip(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(b"no archive")
    assert complaint(path) == "'FILE' is no .pt2 file: a .pt2 file is a zip archive; step_torch.capture writes one"


def test_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(LLAMA.read_bytes()[:20_000])
    assert complaint(path) == "'FILE' is cut off or damaged: File is not a zip file"


def test_no_file(tmp_path: Path) -> None:
    assert complaint(tmp_path / "model.pt2") == "there is no file 'FILE'"


def test_another_zip(tmp_path: Path) -> None:
    path = rewritten(LLAMA, tmp_path / "model.pt2", lambda members: members.pop("archive/models/model.json") and None)
    assert complaint(path) == (
        "'FILE' is no .pt2 file of torch.export: it lacks models/model.json, the exported program"
    )


def test_another_version(tmp_path: Path) -> None:
    def change(model: Any) -> None:
        model.update(schema_version={"major": 9, "minor": 1}, torch_version="3.0")

    assert complaint(edited(LLAMA, tmp_path / "model.pt2", change)) == (
        "'FILE' has schema 9.1 of torch.export, by torch 3.0; what can be read is schema 8: capture the module again "
        "with torch 2.13"
    )


def test_a_weight_is_missing(tmp_path: Path) -> None:
    path = rewritten(LLAMA, tmp_path / "model.pt2", lambda members: members.pop(DATA) and None)
    assert complaint(path) == (f"'FILE' lacks data/weights/weight_6, the data of '{DOWN}': capture the module again")


def test_a_weight_of_another_size(tmp_path: Path) -> None:
    def change(members: Members) -> None:
        members[DATA] = members[DATA][:-2]

    assert complaint(rewritten(LLAMA, tmp_path / "model.pt2", change)) == (
        f"'FILE': '{DOWN}' is bfloat16[32, 64] of 4,096 bytes, but data/weights/weight_6 has 4,094"
    )


def test_a_weight_of_an_unknown_format(tmp_path: Path) -> None:
    def change(config: Any) -> None:
        config["config"][DOWN]["tensor_meta"]["dtype"] = 35

    assert complaint(edited(LLAMA, tmp_path / "model.pt2", change, CONFIG)) == (
        f"'FILE': '{DOWN}' has format 35, which is none of uint8, int8, int16, int32, int64, float16, float32, "
        "float64, bool, bfloat16, float8_e4m3fn, float8_e5m2"
    )


def test_a_weight_that_is_not_bfloat16(tmp_path: Path) -> None:
    def change(config: Any) -> None:
        config["config"][DOWN]["tensor_meta"]["dtype"] = 6

    assert complaint(edited(LLAMA, tmp_path / "model.pt2", change, CONFIG), InputError) == (
        "'FILE' has 1 operator without a lowering:\n"
        "  aten.linear.default at transformers/models/llama/modeling_llama.py:164, in layers.0.mlp.down_proj: "
        f"parameter '{DOWN}' is float16, not bfloat16: call .to(torch.bfloat16) on the module before step_torch.capture"
    )


@pytest.mark.parametrize(("number", "kind"), [(2, "int8"), (1, "uint8"), (12, "bool")])
def test_a_weight_of_integers(number: int, kind: str, tmp_path: Path) -> None:
    """`.to(torch.bfloat16)` would leave it."""

    def change(config: Any) -> None:
        config["config"][DOWN]["tensor_meta"]["dtype"] = number

    path = rewritten(LLAMA, tmp_path / "half.pt2", lambda members: members.update({DATA: members[DATA][:2048]}))
    assert complaint(edited(path, tmp_path / "model.pt2", change, CONFIG), InputError).endswith(
        f"in layers.0.mlp.down_proj: parameter '{DOWN}' is {kind}, not bfloat16: its .to() leaves integers, so store "
        "its values (those of weights times their scales) so before step_torch.capture"
    )


def test_a_weight_of_eight_bits(tmp_path: Path) -> None:
    def change(config: Any) -> None:
        config["config"][DOWN]["tensor_meta"]["dtype"] = 29

    path = rewritten(LLAMA, tmp_path / "half.pt2", lambda members: members.update({DATA: members[DATA][:2048]}))
    assert complaint(edited(path, tmp_path / "model.pt2", change, CONFIG), InputError) == (
        "'FILE' has 1 operator without a lowering:\n"
        "  aten.linear.default at transformers/models/llama/modeling_llama.py:164, in layers.0.mlp.down_proj: "
        f"parameter '{DOWN}' is float8_e4m3fn, not bfloat16: call .to(torch.bfloat16) on the module before "
        "step_torch.capture"
    )


def test_all_operators_without_a_lowering_are_listed(tmp_path: Path) -> None:
    def change(model: Any) -> None:
        for node in model["graph_module"]["graph"]["nodes"]:
            if node["outputs"] and node["outputs"][0].get("as_tensor", {}).get("name") in ("silu", "mean", "rsqrt_1"):
                node["target"] = f"torch.ops.aten.{node['target'].split('.')[3]}_like.default"

    assert complaint(edited(LLAMA, tmp_path / "model.pt2", change), InputError) == (
        "'FILE' has 3 operators without a lowering:\n"
        "  aten.mean_like.default at transformers/models/llama/modeling_llama.py:65, in layers.0.input_layernorm\n"
        "  aten.rsqrt_like.default at transformers/models/llama/modeling_llama.py:66, in "
        "layers.0.post_attention_layernorm\n"
        "  aten.silu_like.default at transformers/activations.py:103, in layers.0.mlp.act_fn"
    )


def test_what_a_lowering_does_not_take(tmp_path: Path) -> None:
    """What reads its result can not be looked at until it is mended."""

    def change(model: Any) -> None:
        for node in model["graph_module"]["graph"]["nodes"]:
            if node["target"] == "torch.ops.aten.pow.Tensor_Scalar":
                node["inputs"][1]["arg"] = {"as_int": 7}

    assert complaint(edited(LLAMA, tmp_path / "model.pt2", change), InputError) == (
        "'FILE' has 1 operator without a lowering:\n"
        "  aten.pow.Tensor_Scalar at transformers/models/llama/modeling_llama.py:65, in layers.0.input_layernorm: "
        "the exponent is 7; 2 and 3 have a lowering"
    )


def test_extents_that_break_a_tile() -> None:
    """Those that were asked for; else tiles have fewer rows, and the import says so."""
    shapes = {"x": (1, 18, 32), "rest_0": (1, 18, 16), "rest_1": (1, 18, 16)}
    data = {name: np.ones(shape, ml_dtypes.bfloat16) for name, shape in shapes.items()}
    assert complaint(LLAMA, InputError, inputs=data, tiling=step_torch.Tiling(4)) == (
        "axis 1 of 'x' is 18, which tiles of 4 rows do not divide: rows= of the tiling (--rows of step import) can be "
        "1, 2, 3, 6, 9, 18; where it is left out, tiles have the most up to 4 that divide"
    )
    imported = step_torch.load(LLAMA, inputs=data)
    assert imported.notes[0] == (
        "axis 1 of 'x' is 18, which tiles of 4 rows do not divide: they have 3; the axis is dynamic, and other "
        "extents may have other tiles"
    )
    assert np.asarray(step.run(imported.lowered, backend="interpret").outputs["output"]).size == 18 * 32


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"y": np.ones((1, 16, 32))}, "the module has no input 'y'; it has x, rest_0, rest_1"),
        ({"x": np.ones((16, 32))}, "input 'x' has 3 dimensions, not 2"),
        ({"x": np.ones((1, 16, 48))}, "axis 2 of input 'x' is 32 in all captures, not 48: name it in dynamic_shapes"),
        ({"x": np.ones((1, 20, 32))}, "axis 1 of input 'rest_0' is 16, but must be 20, as that of another input"),
    ],
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
    monkeypatch.setattr("step_torch.archive._Reader._weight", None)
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


def test_arguments_and_formats_that_no_lowering_takes(tmp_path: Path) -> None:
    def more(model: Any) -> None:
        nodes = model["graph_module"]["graph"]["nodes"]
        silu = next(node for node in nodes if node["target"] == "torch.ops.aten.silu.default")
        silu["inputs"].append({"name": "limit", "arg": {"as_int": 6}, "kind": 2})

    assert complaint(edited(LLAMA, tmp_path / "model.pt2", more), InputError) == (
        "'FILE' has 1 operator without a lowering:\n"
        "  aten.silu.default at transformers/activations.py:103, in layers.0.mlp.act_fn: its lowering does not take "
        "these arguments: got an unexpected keyword argument 'limit'"
    )

    def wide(model: Any) -> None:
        model["graph_module"]["graph"]["tensor_values"]["silu"]["dtype"] = 8

    assert complaint(edited(LLAMA, tmp_path / "wide.pt2", wide), InputError).endswith(
        "in layers.0.mlp.act_fn: its result is float64, and streams have bfloat16, float32, bool"
    )
