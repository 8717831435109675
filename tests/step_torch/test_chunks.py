"""Prompts in chunks: what is written, and what is in the caches, is as it is row by row, on the same hardware."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from raising import raising

import step
from step.errors import InputError
from step_torch import Tiling
from step_torch.batch import Batch, Request
from step_torch.generating import LanguageModel, run
from step_torch.text import Session, TextModel

EXAMPLES = Path(step.__file__).parents[1] / "examples"
MODELS = [
    *sorted((Path(__file__).parent / "captured" / "language").glob("*.pt2")),
    *(EXAMPLES / name / "model.pt2" for name in ("tiny_lm", "tiny_moe_lm")),
    *sorted((Path(__file__).parent / "captured" / "w4a8").glob("*.pt2")),
]


def outputs(model: LanguageModel, prompt: list[int], count: int, backend: str = "approx", **options: Any) -> Any:
    """The tokens that are written, and the caches."""
    ran = run(model.program(prompt, count, **options), backend)
    found = {name: np.asarray(each) for name, each in ran.outputs.items()}
    chunk = options.get("chunk", 1)
    behind = model.batch(prompt, count, past=options.get("past", 0), chunk=chunk)
    return {**found, "tokens": np.array(behind.written(found["tokens"], 0))}


def assert_alike(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    """All outputs are the same, to the bit."""
    assert one.keys() == other.keys()
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}_{path.stem}")
def test_chunks_write_what_rows_write(path: Path) -> None:
    model = LanguageModel.load(path)
    prompt = np.random.default_rng(0).integers(model.vocabulary, size=13).tolist()
    options = {"tiling": Tiling(side_by_side=2)} if path.parent.name == "w4a8" else {}
    meant = outputs(model, prompt, 3, **options)
    for backend in ("approx", "interpret"):
        assert_alike(outputs(model, prompt, 3, backend, chunk=4, **options), meant)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}_{path.stem}")
def test_heads_at_once_write_what_they_write_one_after_the_other(path: Path) -> None:
    """Each has a cache of its own."""
    model = LanguageModel.load(path)
    prompt = np.random.default_rng(0).integers(model.vocabulary, size=9).tolist()
    for options in ({}, {"chunk": 4}):
        meant = outputs(model, prompt, 3, **options)
        for backend in ("approx", "interpret"):
            found = outputs(model, prompt, 3, backend, tiling=Tiling(heads=2), **options)
            length = -(-model.room // 4) * 4
            for name in ("keys", "values"):
                each = [found.pop(f"attention_cache_{unit}_{name}") for unit in range(2)]
                together = np.stack([own.reshape(-1, length, own.shape[-1]) for own in each], 1)
                found[f"attention_cache_{name}"] = together.reshape(-1, together.shape[-1])
            assert_alike(found, meant)


@pytest.fixture(scope="module")
def tiny() -> TextModel:
    """The model of the examples."""
    return TextModel.load(EXAMPLES / "tiny_lm")


def test_prompts_of_any_length(tiny: TextModel) -> None:
    """One build for all of them."""
    text, programs = tiny.tokens("a cache"), [tiny.program("every tile has", 2, chunk=chunk) for chunk in (1, 3)]
    for length in range(1, 8):
        batches = [tiny.model.batch(text[:length], 2, chunk=chunk) for chunk in (1, 3)]
        given = [
            replace(one, inputs={**one.inputs, **batch.inputs()}) for one, batch in zip(programs, batches, strict=True)
        ]
        assert_alike(*({name: np.asarray(each) for name, each in run(one, "approx").outputs.items()} for one in given))


def test_a_turn_in_chunks(tiny: TextModel) -> None:
    """The second prompt begins where the tiles of the caches are not full; a text ends, and is drawn, as in rows."""
    drawn: Any = {"temperature": 4.0, "top_k": 16, "seed": 2}
    texts = []
    for options in ({}, {"chunk": 4}):
        session = Session(tiny)
        turns = [session.say("every", 5, **options), session.say(" has its", 6, **options)]
        turns.append(session.say(" turn", 7, **options, **drawn))
        ended = run(tiny.model.program(tiny.tokens("every tile"), 30, end=tiny.tokens("s")[0], **options), "approx")
        texts.append([[text for text, _ in turns], np.asarray(ended.outputs["tokens"]).ravel().tolist()])
    assert texts[0] == texts[1] and len(texts[0][1]) == 4


def test_texts_one_after_the_other_in_chunks(tiny: TextModel) -> None:
    prompts, counts = ["every tile", "the cache", "a"], [5, 6, 4]
    texts, _ = tiny.generate_all(prompts, counts, slots=1, chunk=4)
    assert texts == [tiny.generate(*each)[0] for each in zip(prompts, counts, strict=True)]


def test_rows_of_steps() -> None:
    inputs = Batch([Request([7, 8, 9], 2, past=5)], 2, chunk=2).inputs()
    rows = {
        name: [np.ravel(each).astype(int).tolist() for each in inputs[name]] for name in ("position", "first", "more")
    }
    assert rows == {
        "position": [[5, 6], [5, 6], [7], [7], [8], [8]],
        "first": [[0, 1], [0, 1], [0], [0], [0], [0]],
        "more": [[1, 0], [1, 0], [0], [0], [0], [0]],
    }
    assert inputs["prompt"].tolist() == [7, 8, 9]


def test_a_prompt_takes_fewer_cycles_and_a_token_hardly_more() -> None:
    """Weights decide the time, as they do in large models."""
    model, cycles = TextModel.load(EXAMPLES / "tiny_lm").model, {}
    for chunk in (1, 8):
        program = model.program([9] * 40, 1, chunk=chunk, values=False)
        for length, count in ((1, 1), (40, 1), (1, 5)):
            given = model.batch([9] * length, count, chunk=chunk).inputs()
            program = replace(program, inputs={**program.inputs, **given})
            cycles[chunk, length, count] = step.run(program, "approx").cycles
    prompts = [cycles[chunk, 40, 1] - cycles[chunk, 1, 1] for chunk in (1, 8)]
    tokens = [cycles[chunk, 1, 5] - cycles[chunk, 1, 1] for chunk in (1, 8)]
    assert prompts[1] < 0.6 * prompts[0] and tokens[1] < 1.6 * tokens[0]


def test_what_has_no_chunks(tiny: TextModel) -> None:
    with raising(InputError, "a chunk of 4 rows is of one prompt: there must be one slot, not 2"):
        tiny.program(["a", "the"], 2, chunk=4)
    with raising(InputError, "what comes behind every token is asked row by row: chunk must be 1, not 4"):
        tiny.model.program([1, 2], 2, chunk=4, every=True)


@pytest.mark.large
@pytest.mark.parametrize(
    ("path", "tiling"),
    [
        (EXAMPLES / "tiny_lm" / "model.pt2", Tiling()),
        (EXAMPLES / "tiny_moe_lm" / "model.pt2", Tiling(heads=2)),
        (MODELS[-2], Tiling(columns=16, side_by_side=4, heads=2)),
    ],
    ids=lambda each: each.parts[-2] if isinstance(each, Path) else "",
)
def test_chunks_in_rtl(path: Path, tiling: Tiling) -> None:
    """Units take shares of columns, and of the depth; heads are attended at once."""
    program = LanguageModel.load(path).program([3, 1, 4, 1, 5, 9, 2], 3, chunk=4, tiling=tiling)
    timed, built = (run(program, backend) for backend in ("approx", "rtl"))
    assert timed.cycles == built.cycles
    assert all(
        np.asarray(each).tobytes() == np.asarray(built.outputs[key]).tobytes() for key, each in timed.outputs.items()
    )
