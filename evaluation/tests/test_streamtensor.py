"""The page of StreamTensor's models is that of the result files, and its models are those of the published table."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from experiments.rows import RESULTS, ROOT
from experiments.streamtensor import cards, small
from experiments.streamtensor.ablations import linear
from experiments.streamtensor.card import Card
from experiments.streamtensor.models import MODELS
from experiments.streamtensor.page import PAGE, page
from experiments.streamtensor.points import prompts, tokens
from step import FP32, Graph, Program, Simulator, Tile, interpret
from step.functions import Add, Mul
from step.lowering.netlist import lower
from step_explore.fifos.runs import Runs
from step_torch import Tiling
from step_torch.batch import Batch, Request
from step_torch.generating import SMALL, LanguageModel


def test_the_page_is_that_of_the_results() -> None:
    assert page(RESULTS) == PAGE.read_text()
    assert len(PAGE.read_text().split()) <= 1200


@pytest.mark.parametrize("path", sorted(RESULTS.glob("streamtensor_*.csv")), ids=lambda path: path.stem)
def test_rows_of_every_file_are_on_the_page(path: Path, tmp_path: Path) -> None:
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True)
    rows = path.read_text().splitlines(keepends=True)
    (tmp_path / path.name).write_text("".join(rows[:-1]))
    assert page(tmp_path) != page(RESULTS)


def test_small_sizes_are_equal_in_rtl() -> None:
    for row in small.CAMPAIGN.read(RESULTS, "small"):
        assert (row["passed"], row["off"], row["rtl_cycles"]) == ("True", "0", row["model_cycles"])


def test_a_token_of_gpt2_reads_its_published_weights() -> None:
    assert MODELS["gpt2"].weights == 24 * 12 * 1024 * 1024  # 302 M
    assert MODELS["gpt2"].weights / 2 / 460e9 < 0.33e-3


def test_points_have_names_of_their_own() -> None:
    names = [each.name for each in (*tokens(), *prompts())]
    assert len(set(names)) == len(names)


def test_cards_one_behind_the_other_write_what_one_program_does() -> None:
    model, request = LanguageModel.load(ROOT / "examples" / "tiny_lm" / "model.pt2"), Request([1, 2, 3], 4)
    whole = model.program(request.prompt, request.count)
    written = [
        int(each.value.item()) for each in interpret(whole.graph, whole.inputs).outputs["tokens"] if each.has_value
    ]
    rows, middle = np.array([*request.prompt, *written[:-1]]), model.parts.count // 2
    for card in (Card(model, 0, middle), Card(model, middle, model.parts.count)):
        program = card.program(Tiling(), SMALL)
        inputs = {**program.inputs, **card.inputs(Batch([request], 1), rows, [1] * len(rows))}
        found = interpret(program.graph, inputs).outputs[card.output]
        rows = np.stack([each.value for each in found if each.has_value])
    assert rows.ravel().tolist() == written


def test_rows_of_requests_wait_for_cards_and_links() -> None:
    cycles, latency = np.array([[100, 100, 100, 100], [300, 300, 300, 300]]), 250
    comes, leaves = cards._times(cycles, requests=2)
    row = -(-2048 // 50)
    assert comes[1, 0] == 100 + row + latency
    assert leaves[1, 1] == leaves[1, 0] + 300  # the card was busy
    assert leaves[1, 2] == comes[1, 2] + 300 == comes[0, 2] + 100 + row + latency + 300
    assert comes[0].tolist() == [0, 0, leaves[1, 0] + 1 + latency, leaves[1, 1] + 1 + latency]


def test_depths_of_the_linear_program_hold_a_row_until_its_sum_is_there() -> None:
    graph = Graph("scaled")
    rows = graph.source("rows", Tile(FP32), [2, 9])
    sums = rows.accum(Add(), name="sum").reshape(1, name="alone")[0].expand(rows, name="spread")
    rows.map(Mul(), sums, name="scaled").sink("y")
    simulator = Simulator(Program(graph, {"rows": np.ones((2, 9))}))
    runs = Runs(lower(graph, simulator.program.fabric), [simulator], threads=1)
    depths = linear(runs, simulator)
    assert runs.outcome(runs.asked).cycles is None
    assert runs.outcome(depths).cycles is not None
    assert depths["rows_broadcast.2"] >= 9
