"""Texts that are drawn at random, several at once, and turn by turn: the same on all engines, and as in NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from drawing import drawn
from raising import raising

import step
from cosim.comparing.compare import compare
from step.errors import FormatError, InputError
from step_torch.sampling import Sampling
from step_torch.text import Session, TextModel

EXAMPLES = Path(step.__file__).parents[1] / "examples"
PROMPTS, COUNTS = ["every tile", "the cache", "a row", "tokens wait in"], [14, 15, 20, 9]
HOT: dict[str, Any] = {"temperature": 4.0, "top_k": 16, "top_p": 0.95}


@pytest.fixture(scope="module")
def tiny() -> TextModel:
    """The model of the examples."""
    return TextModel.load(EXAMPLES / "tiny_lm")


def numbers(run: step.Run) -> list[int]:
    """The tokens that come out."""
    return np.asarray(run.outputs["tokens"]).reshape(-1).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_drawn_as_numpy_draws(tiny: TextModel, seed: int) -> None:
    _, run = tiny.generate("every tile", 14, seed=seed, scores=True, **HOT)
    rows = tiny.model.scores(run)
    assert numbers(run) == [drawn(row, seed, 9 + at, *HOT.values()) for at, row in enumerate(rows)]
    if seed < 2:
        assert numbers(tiny.generate("every tile", 14, "interpret", seed=seed, **HOT)[1]) == numbers(run)
    assert tiny.program("a", 2, seed=seed, **HOT).graph.nodes.keys() == tiny.program("a", 2, **HOT).graph.nodes.keys()


@pytest.mark.large
def test_drawn_in_rtl(tiny: TextModel) -> None:
    """One build for all seeds."""
    texts = [
        [tiny.generate("every tile", 14, backend, seed=seed, **HOT)[0] for seed in range(5)]
        for backend in ("approx", "interpret", "rtl")
    ]
    assert texts[0] == texts[1] == texts[2] and len({*texts[0]}) == 5


def test_no_temperature_is_the_largest_score(tiny: TextModel) -> None:
    assert tiny.generate("every tile", 8, temperature=0)[0] == tiny.generate("every tile", 8)[0] == " has its"


@cases(
    (lambda: Sampling(temperature=-1), "Sampling needs temperature to be a number >= 0, not -1"),
    (lambda: Sampling(top_k=65), "Sampling needs top_k to be at most 64, not 65"),
    (lambda: Sampling(top_p=1.5), "Sampling needs top_p to be at most 1, not 1.5"),
    (lambda: Sampling(seed=2**32), "Sampling needs seed to be at most 4,294,967,295, not 4,294,967,296"),
)
def test_what_can_not_be_drawn(make: Any, text: str) -> None:
    with raising(InputError, text):
        make()


@pytest.mark.parametrize("name", ["tiny_lm", "tiny_moe_lm"])
def test_four_texts_take_half_the_time(name: str) -> None:
    model = TextModel.load(EXAMPLES / name)
    alone = [model.generate(*each) for each in zip(PROMPTS, COUNTS, strict=True)]
    texts, run = model.generate_all(PROMPTS, COUNTS)
    assert texts == [text for text, _ in alone]
    assert run.cycles < 0.5 * sum(each.cycles for _, each in alone)


@pytest.mark.large
def test_texts_of_unlike_lengths_in_rtl(tiny: TextModel) -> None:
    """Every token of every channel in its cycle, and half the cycles of one after the other."""
    given = [tiny.tokens(each) for each in PROMPTS]
    found = compare(tiny.model.program(given, COUNTS, sampling=Sampling(**HOT)), optimize=False)
    assert found.passed and found.mismatches == 0, found.complaints
    alone = [tiny.generate(*each, **HOT)[1].cycles for each in zip(PROMPTS, COUNTS, strict=True)]
    assert found.exact_cycles < 0.5 * sum(alone)


def test_texts_wait_for_a_slot(tiny: TextModel) -> None:
    """Each writes what it writes alone, with the same seed, too."""
    alone = [tiny.generate(*each, seed=1, **HOT)[0] for each in zip(PROMPTS, COUNTS, strict=True)]
    for backend in ("approx", "interpret"):
        assert tiny.generate_all(PROMPTS, COUNTS, backend, slots=2, seed=1, **HOT)[0] == alone


def test_several_texts_end_with_the_last_one(tiny: TextModel) -> None:
    """The one that takes longest, in a slot of three or of four, and in one of two where the third text waits."""
    given, end = [tiny.tokens(each) for each in (*PROMPTS[:2], "a")], tiny.tokens("s")[0]
    for slots, size in ((3, 57), (4, 76), (2, 98)):
        batch = tiny.model.batch(given, 30, slots=slots)
        for backend in ("approx", "interpret"):
            options: Any = {"values": "all"} if backend == "approx" else {}
            run = step.run(tiny.model.program(given, 30, end=end, slots=slots), backend, **options)
            texts = [tiny.text(batch.written(run.outputs["tokens"], number, end)) for number in range(3)]
            assert texts == [" has", " s", "nd the new row goes"] and len(numbers(run)) == size


def test_a_text_goes_on(tiny: TextModel) -> None:
    session = Session(tiny)
    parts = [session.say("every tile", 4), session.say(" turn,", 6), session.say("", 3)]
    whole = "every tile has turn," + parts[1][0] + parts[2][0]
    assert tiny.generate("every tile has turn,", 9)[0] == parts[1][0] + parts[2][0] and len(session.tokens) == len(
        whole
    )
    assert parts[2][1].cycles < tiny.generate(whole[:-3], 3)[1].cycles / 3
    with raising(
        InputError,
        "a prompt of 2 tokens and 40 more are 41 steps behind 28 in the caches, but the caches of "
        f"'{EXAMPLES / 'tiny_lm' / 'model.pt2'}' have room for 64",
    ):
        session.say("a", 40)


def test_less_room(tiny: TextModel) -> None:
    small = TextModel.load(EXAMPLES / "tiny_lm", room=24)
    assert small.generate("every tile", 14)[0] == tiny.generate("every tile", 14)[0]
    assert (
        2 * small.program("a", 2).inputs["attention_cache_keys"].size
        < tiny.program("a", 2).inputs["attention_cache_keys"].size
    )
    path = EXAMPLES / "tiny_lm" / "model.pt2"
    with raising(InputError, f"the room must be 2 to 64, for which '{path}' was captured, not 65"):
        TextModel.load(EXAMPLES / "tiny_lm", room=65)


def tokenizer(folder: Path, words: list[str], **config: Any) -> Path:
    """A folder as transformers stores it."""
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token=words[1]))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.pt2").write_bytes((EXAMPLES / "tiny_lm" / "model.pt2").read_bytes())
    return folder


def test_a_tokenizer_of_transformers(tiny: TextModel, tmp_path: Path) -> None:
    words = [f"w{at}" for at in range(32)]
    model = TextModel.load(tokenizer(tmp_path, words, eos_token_id=[tiny.tokens("s")[0]]))
    said: list[str] = []
    text, run = model.generate(model.text(tiny.tokens("every tile")), 30, say=said.append)
    assert text == " " + model.text(tiny.tokens(" ha")) and tiny.text(numbers(run)) == " has"
    assert "".join(said[1:]) == text


def test_tokenizers_that_do_not_fit(tmp_path: Path) -> None:
    path = tokenizer(tmp_path, [f"w{at}" for at in range(33)]) / "tokenizer.json"
    with raising(FormatError, f"'{path}' has 33 tokens, but the model has 32"):
        TextModel.load(tmp_path)
    path.write_text("{")
    with pytest.raises(FormatError, match=f"^'{path}' is no tokenizer: "):
        TextModel.load(tmp_path)


def test_counts_that_are_not_those_of_the_prompts(tiny: TextModel) -> None:
    with raising(InputError, "there are 2 prompts, and 3 numbers of tokens"):
        tiny.generate_all(["a", "the"], [1, 2, 3])
