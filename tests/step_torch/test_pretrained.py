"""Checkpoints in folders: layers as torch has them, texts as torch writes them, and what is wrong with a folder."""

from __future__ import annotations

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raising

import step
import step_torch
from step.errors import FormatError, InputError
from step_torch.text import TextModel

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import capturing  # noqa: E402
import families  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

SIZES: dict[str, dict[str, Any]] = {
    "Llama": {**capturing.COMMON, "num_hidden_layers": 3, "initializer_range": 0.3},
    "Mixtral": {**capturing.COMMON, "num_hidden_layers": 3, "num_local_experts": 4, "initializer_range": 0.3},
    "GPT2": {"vocab_size": 64, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64, "initializer_range": 0.3},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models as `save_pretrained` writes them, in several files where they are large."""
    found = dict[str, Path]()
    for name, sizes in SIZES.items():
        torch.manual_seed(0)
        config = getattr(transformers, f"{name}Config")(**sizes)
        kind = getattr(transformers, "GPT2LMHeadModel" if name == "GPT2" else f"{name}ForCausalLM")
        found[name] = tmp_path_factory.mktemp(name)
        kind(config).to(torch.bfloat16).save_pretrained(found[name], max_shard_size="20KB")
    return found


@pytest.mark.parametrize("name", SIZES)
def test_a_folder_writes_as_torch_does(name: str, folders: dict[str, Path]) -> None:
    writes(folders[name], 3)


FOUR = {**capturing.COMMON, "num_hidden_layers": 4, "pad_token_id": 0}
KINDS = {
    "DeepseekV3": lambda: families.model("DeepseekV3", families.WRITING),
    "Gemma2": lambda: capturing.small("Gemma2", **FOUR, sliding_window=4),
    "SmolLM3": lambda: capturing.small("SmolLM3", **FOUR, no_rope_layers=[1, 1, 1, 0]),
}


@pytest.mark.parametrize(("name", "count"), [("DeepseekV3", 1), ("Gemma2", 2), ("SmolLM3", 1)])
def test_layers_of_several_kinds(name: str, count: int, tmp_path: Path) -> None:
    KINDS[name]().save_pretrained(tmp_path)
    writes(tmp_path, count)


def test_a_layer_is_what_its_number_makes_it(tmp_path: Path) -> None:
    """Alone it would turn rows, as the first one does; one of other modules would be another one."""
    KINDS["SmolLM3"]().save_pretrained(tmp_path)
    checkpoint = step_torch.from_pretrained(tmp_path)
    assert [checkpoint.model([each]).model.layers[0].self_attn.use_rope for each in range(4)] == [1, 1, 1, 0]
    assert checkpoint.layer(3, tokens=8).check().passed
    model = checkpoint.model([3])
    model.model.layers[0].mlp.act_fn = torch.nn.ReLU()
    with raising(
        InputError, f"'{tmp_path}' has layer 3, which is another one by itself: a ReLU is there for a SiLUActivation"
    ):
        checkpoint._renumber(model, [3])


def writes(folder: Path, layers: int) -> None:
    """Whether it writes what torch does, on hardware through which a row goes ``layers`` times."""
    checkpoint = step_torch.from_pretrained(folder)
    model, prompt, count = checkpoint.language_model(room=24), [1, 2, 3], 9
    assert model.parts.count == layers
    run = step.run(model.program(prompt, count), backend="approx", values="all")
    mine = model.batch(prompt, count).written(run.outputs["tokens"], 0)
    whole = getattr(transformers, checkpoint.config.architectures[0]).from_pretrained(folder, dtype=torch.bfloat16)
    theirs = whole.generate(torch.tensor([prompt]), max_new_tokens=count, do_sample=False, eos_token_id=None)
    assert mine == theirs[0, len(prompt) :].tolist()


def test_a_tokenizer_beside_it_makes_texts(folders: dict[str, Path]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = {chr(ord("!") + number): number for number in range(64)}
    kept = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="!"))
    kept.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    kept.save(str(folders["Llama"] / "tokenizer.json"))
    model = TextModel.load(folders["Llama"], room=12)
    text, run = model.generate("+,-", 5)
    written = model.model.batch(model.tokens("+,-"), 5).written(run.outputs["tokens"], 0)
    assert model.tokens(text.replace(" ", "")) == written


def test_a_layer_is_that_of_the_folder_and_no_other_is_read(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["Llama"], tmp_path / "some")
    index = tmp_path / "some" / "model.safetensors.index.json"
    listed = json.loads(index.read_text())
    kept = {name: file for name, file in listed["weight_map"].items() if not re.search(r"layers\.[02]\.", name)}
    index.write_text(json.dumps({**listed, "weight_map": kept}))
    for file in {*listed["weight_map"].values()} - {*kept.values()}:
        (tmp_path / "some" / file).unlink()
    imported = step_torch.from_pretrained(tmp_path / "some").layer(1, tokens=8)
    assert imported.check().passed
    whole = transformers.LlamaForCausalLM.from_pretrained(folders["Llama"], dtype=torch.bfloat16)
    own = {name: each.detach().float().numpy() for name, each in whole.model.layers[1].named_parameters()}
    read = imported.archive.weights
    for name, each in own.items():
        assert np.array_equal(read[f"layers.0.{name}"].astype(np.float32), each)


def emptied(folder: Path) -> None:
    for file in folder.glob("*.safetensors*"):
        file.unlink()


def changed(**entries: Any) -> Any:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))

    return change


@cases(
    (emptied, InputError, "'{0}/model.safetensors' is not there: weights must be in the format of safetensors, which "
     "save_pretrained of transformers writes"),
    (lambda folder: (folder / "config.json").unlink(), FormatError, "there is no file '{0}/config.json'"),
    (changed(architectures=["OwnForCausalLM"]), InputError,
     f"'{{0}}' is a OwnForCausalLM, which transformers {transformers.__version__} does not have"),
    (changed(quantization_config={"quant_method": "gptq", "bits": 4}), InputError, "'{0}' has no qweight, "
     "as its quantization_config says"),
    (lambda folder: min(folder.glob("model-*")).write_bytes(b"nothing"), FormatError,
     "'{0}/model-00001-of-00005.safetensors' is damaged: Error while deserializing header: header too small"),
    (changed(num_hidden_layers=4), InputError,
     "'{0}' lacks 9 weights of a LlamaForCausalLM: 'model.layers.0.input_layernorm.weight' is the first"),
)  # fmt: skip
def test_a_folder_that_is_no_checkpoint(
    spoil: Any, kind: type[Exception], complaint: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(folders["Llama"], folder)
    spoil(folder)
    with raising(kind, complaint.format(folder)):
        step_torch.from_pretrained(folder).layer(3)
