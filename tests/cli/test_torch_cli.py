"""``step import`` and ``step generate``: what they print, and what they say of what can not be."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from commanding import ROOT, Step
from filing import filed

from step import load_program
from step_torch.agreement import Difference, TextAgreement
from step_torch.archive import GeneratedText
from step_torch.text import TextModel

LLAMA = "tests/step_torch/captured/llama_prefill.pt2"


def test_an_import(step: Step, tmp_path: Path) -> None:
    into = tmp_path / "model.json"
    done = step("import", LLAMA, "-o", into, "--check")
    assert (done.code, done.err) == (0, "") or "written" in done.err
    lines = done.out.splitlines()
    assert lines[:7] == [
        "llama_prefill: 122 operators of 53 of torch, 7 joins that hold 3,584 bytes, 5.3% of the intermediates",
        "  from the host: x: bfloat16 [1, 16, 32]",
        "  from the host: rest_0: bfloat16 [1, 16, 16]",
        "  from the host: rest_1: bfloat16 [1, 16, 16]",
        "  sums: ordered",
        "  tiles: 4 rows of activations, 16 columns of weights",
        "  depth: all of it at once",
    ]
    assert lines[7] == "rms error to float64 1.2e-03, of torch in BF16 1.2e-03: as good"
    assert len(load_program(into).graph.nodes) == 122


def test_joins_as_a_table_and_as_data(step: Step) -> None:
    table = step("import", LLAMA, "--joins").out
    assert "Bufferize and Streamify" in table and "modeling_llama.py:258, in layers.0.self_attn" in table
    data = json.loads(step("import", LLAMA, "--json", "--rows", 8).out)
    assert data["operators"] > 100 and data["check"] is None
    assert sum(each["bytes"] for each in data["joins"]) <= 0.15 * data["intermediate_bytes"]


def test_what_can_not_be_imported(step: Step, tmp_path: Path) -> None:
    path = filed(tmp_path / "model.pt2", "nothing")
    failed = step("import", path)
    assert failed.code == 1 and failed.out == ""
    assert failed.err == (
        f"error: '{path}' is no .pt2 file: a .pt2 file is a zip archive; step_torch.capture writes one\n"
    )


def test_a_text(step: Step) -> None:
    written = "a channel"
    done = step("generate", "examples/tiny_lm", "--prompt", "a ", "--tokens", 5)
    assert (done.code, done.out) == (0, written[:7] + "\n")
    assert "5 tokens on approx in" in done.err and "cycles a token" in done.err
    data = json.loads(step("generate", "examples/tiny_lm", "--prompt", "a ", "--tokens", 5, "--json").out)
    cycles = TextModel.load(ROOT / "examples" / "tiny_lm").generate("a ", 5)[1].cycles
    assert data["text"] == written[:7] and data["cycles_a_token"] == cycles / 6  # the last token is read by nobody
    meant = json.loads(
        step("generate", "examples/tiny_lm", "--prompt", "a ", "--tokens", 5, "--backend", "interpret", "--json").out
    )
    assert meant["text"] == written[:7] and meant["cycles_a_token"] is None


def test_texts_of_torch(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GeneratedText([1, 2, 3, 4], [0.5, 0.0, 0.25])  # " abc" behind " "
    found = TextAgreement(text, (Difference(2, 5, 3, 0.0), Difference(3, 1, 4, 0.25)), SimpleNamespace())  # type: ignore
    monkeypatch.setattr("step_cli.verbs.generate.agreements", lambda model, backend: [found])
    done = step("generate", "examples/tiny_lm", "--check")
    assert (done.code, done.out.splitlines()) == (
        0,
        [
            "' ': 1 of 3 tokens as torch",
            "  token 2 is 'd', of torch 'b', with the same score",
            "  token 3 is ' ', of torch 'c', whose score is larger by 0.25",
        ],
    )
    (shown,) = json.loads(step("generate", "examples/tiny_lm", "--check", "--json").out)["texts"]
    assert (shown["prompt"], shown["tokens"], shown["agreed"]) == (" ", 3, 1)
    assert shown["differences"][1] == {"place": 3, "mine": " ", "torch": "c", "margin": 0.25}
    failed = step("generate", "examples/tiny_lm")
    assert failed.code == 1 and "missing option '--prompt', or '--check'" in failed.err


def test_a_prompt_that_the_model_can_not_read(step: Step) -> None:
    assert step("generate", "examples/tiny_lm", "--prompt", "A").failed() == (
        "error: the model has no symbol for 'A', character 0 of the prompt; it has "
        "'\\n ,.?abcdefghijklmnopqrstuvwxyz'\n"
    )
