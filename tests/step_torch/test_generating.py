"""The tiny language models write what transformers writes, the same on all engines; what they can not write is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from broken import edited
from raising import raising

import step
import step_torch
from step.errors import EnvironmentProblem, FormatError, InputError
from step.language.tokens import Token
from step_torch.agreement import Difference, agreements
from step_torch.generating import LanguageModel
from step_torch.text import TextModel

EXAMPLES = Path(step.__file__).parents[1] / "examples"
FOLDER = EXAMPLES / "tiny_lm"


@pytest.fixture(scope="module")
def tiny() -> TextModel:
    """The model of the examples."""
    return TextModel.load(FOLDER)


@pytest.fixture(scope="module", params=["tiny_lm", "tiny_moe_lm"])
def either(request: pytest.FixtureRequest) -> TextModel:
    """A model of the examples, without or with routed experts."""
    folder = EXAMPLES / request.param
    assert (folder / "model.pt2").stat().st_size <= 100_000
    return TextModel.load(folder)


@pytest.mark.parametrize("number", range(5))
def test_it_writes_what_transformers_writes(either: TextModel, number: int) -> None:
    stored = either.model.archive.texts[number]
    prompt, whole = either.text(stored.prompt), either.text(stored.tokens)
    text, run = either.generate(prompt, 12)
    assert prompt + text == whole[: len(prompt) + 12] and run.result.status == "finished"


def test_scores_agree_until_the_caches_are_full(either: TextModel) -> None:
    """Given what transformers wrote, the next token of every step; where two scores tie, the other may be chosen."""
    archive = either.model.archive
    (text, *_) = archive.texts
    assert len(text.tokens) == either.model.room + 1 and all(each >= 0 for each in text.margins)
    wrong = replace(text, tokens=[*text.tokens[:-1], (text.tokens[-1] + 1) % 32])
    for given in (text, wrong):
        (found,) = agreements(replace(either.model, archive=replace(archive, texts=(given,))))
        assert found.count == len(given.margins) and found.run.result.status == "finished"
        assert found.agreed >= 0.95 * found.count - (given is wrong)
        last = Difference(len(text.tokens) - 1, text.tokens[-1], wrong.tokens[-1], text.margins[-1])
        assert (last in found.differences) == (given is wrong)


def test_without_texts_of_torch(tiny: TextModel) -> None:
    bare = replace(tiny.model, archive=replace(tiny.model.archive, texts=()))
    with raising(
        InputError,
        f"'{FOLDER / 'model.pt2'}' has no texts of torch to compare with: step_torch.capture_decoding(.., prompts=..) "
        "stores them",
    ):
        next(agreements(bare))


def test_engines_agree_in_tokens_and_caches(either: TextModel) -> None:
    program = either.program("a ", 7)
    timed, meant = step.run(program, backend="approx", values="all"), step.run(program, backend="interpret")
    assert "tokens" in meant.outputs and len(meant.outputs) == 3  # and the caches
    assert set(meant.outputs) == set(timed.outputs)
    for name, each in meant.outputs.items():
        assert np.asarray(each).tobytes() == np.asarray(timed.outputs[name]).tobytes(), name


def test_another_prompt_is_the_same_graph(tiny: TextModel) -> None:
    one, other = tiny.program("every tile", 12), tiny.program("the cache", 14)
    assert one.graph.nodes.keys() == other.graph.nodes.keys() and one.graph.depths == other.graph.depths
    assert [node.output_types for node in one.graph] == [node.output_types for node in other.graph]


def test_no_step_is_made_behind_the_end(tiny: TextModel) -> None:
    """Asked for 30 tokens more, the hardware stops where it writes the end: nothing is computed behind that."""
    prompt, end = tiny.tokens("every tile"), tiny.tokens("s")[0]
    whole, ended = (
        step.run(tiny.model.program(prompt, count, end=stop), "approx", values="all")
        for count, stop in ((4, None), (30, end))
    )
    tokens = np.asarray(ended.outputs["tokens"]).reshape(-1)
    assert tiny.text(tokens) == " has"
    assert abs(ended.cycles - whole.cycles) <= 10  # of these the last step has no selector to wait for
    assert all(
        np.array_equal(np.asarray(each), np.asarray(ended.outputs[name])) for name, each in whole.outputs.items()
    )
    with pytest.raises(InputError, match=r"^there is no token 32: the model has tokens 0 to 31$"):
        tiny.model.program(prompt, 4, end=32)


@pytest.mark.parametrize("backend", ["approx", "interpret"])
def test_text_is_said_as_it_comes(tiny: TextModel, backend: str) -> None:
    said: list[str] = []
    text, _ = tiny.generate("a ", 4, backend, say=said.append)
    assert said == ["a ", *text] and len(text) == 4


def test_nothing_is_said_behind_the_end_of_a_text(tiny: TextModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(program: step.Program, backend: str, on_token: Any) -> Any:
        for number in (4, 5, 0, 6):
            on_token("last", Token(np.array([[7]])))
            on_token("tokens", Token(np.array([[number]])))
        return SimpleNamespace(outputs={"tokens": [4, 5, 0, 6]})

    monkeypatch.setattr("step_torch.text.run", run)
    for count, written in ((4, [4, 5]), (1, [4])):
        said: list[str] = []
        text, _ = tiny.generate("abc", count, say=said.append)
        assert said == ["abc", *(tiny.text([each]) for each in written)] and text == tiny.text(written)


def test_a_single_token(tiny: TextModel) -> None:
    text, _ = tiny.generate("t", 1)
    assert len(text) == 1


def complaint(tiny: TextModel, prompt: str, count: int) -> str:
    """What is wrong with it."""
    with pytest.raises(InputError) as caught:
        tiny.program(prompt, count)
    return str(caught.value)


def test_what_can_not_be_written(tiny: TextModel) -> None:
    assert complaint(tiny, "every tile", 60) == (
        f"a prompt of 10 tokens and 60 more are 69 steps, but the caches of '{FOLDER / 'model.pt2'}' have room for 64"
    )
    assert complaint(tiny, "Every", 3) == (
        "the model has no symbol for 'E', character 0 of the prompt; it has '\\n ,.?abcdefghijklmnopqrstuvwxyz'"
    )
    assert complaint(tiny, "", 3) == "there must be a prompt of at least one token, and at least one token to write"
    with pytest.raises(InputError, match=r"^there is no token 32: the model has tokens 0 to 31$"):
        tiny.model.program([1, 32], 2)


def test_prompts_are_tokens(tiny: TextModel) -> None:
    """Arrays and whole numbers of any kind are taken, as for any input."""
    (meant, *others) = (tiny.model.program(each, 2).inputs["prompt"] for each in ([3, 1], np.array([3, 1]), [3.0, 1.0]))
    assert all(np.array_equal(each, meant) for each in others)
    with raising(
        InputError, "input 'prompt' at [1] is 1.5, which is no integer: UINT32 has the integers 0 to 4294967295"
    ):
        tiny.model.program([3, 1.5], 2)  # type: ignore[list-item]


def test_caches_that_are_too_large_for_memory(tiny: TextModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("step.host.memory.free_bytes", lambda: 10_000)
    with raising(
        EnvironmentProblem,
        "a run with caches of 64 tokens in 2 layers takes at least 0.0 GB of memory, and 0.0 GB are free; capture the "
        "model with less room",
    ):
        tiny.program("a", 2)


def test_a_folder_whose_files_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "symbols.txt").write_text("abc\n")
    (tmp_path / "model.pt2").write_bytes((FOLDER / "model.pt2").read_bytes())
    with raising(FormatError, f"'{tmp_path / 'symbols.txt'}' has 3 symbols, but the model has 32 tokens"):
        TextModel.load(tmp_path)


def test_a_layer_is_no_language_model() -> None:
    path = Path(__file__).parent / "captured" / "llama_prefill.pt2"
    with raising(InputError, f"'{path}' is no step of a language model: step_torch.capture_decoding writes one"):
        LanguageModel.load(path)


def test_layers_that_are_not_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few are the hardware one after the other; where more do not repeat each other, that is said."""

    def change(model: object) -> None:
        nodes = model["graph_module"]["graph"]["nodes"]  # type: ignore[index]
        (*_, last) = [node for node in nodes if node["target"] == "torch.ops.aten.silu.default"]
        last["target"] = "torch.ops.aten.tanh.default"

    path = edited(FOLDER / "model.pt2", tmp_path / "model.pt2", change)
    assert LanguageModel.load(path).parts.count == 1
    monkeypatch.setattr(step_torch.stacked, "MOST_KINDS", 1)
    with raising(
        InputError,
        f"layer 1 of '{path}' is not as layer 0: aten.tanh.default at transformers/activations.py:103, in "
        "layers.layers.1.mlp.act_fn",
    ):
        LanguageModel.load(path)
