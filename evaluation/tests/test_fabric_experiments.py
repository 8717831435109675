"""The published figures on the fabric: the command runs every kind of workload, resumes, and does not mix."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from experiments import intervals
from experiments.__main__ import main
from experiments.fabric import (
    capacity,
    dram,
    explained,
    memories,
    on_dram,
    products,
    record,
    schedulers,
    scheduling,
    traces,
    validation,
    worst,
)
from experiments.fabric.figures import FIGURES
from experiments.fabric.findings import findings
from experiments.fabric.page import page
from experiments.fabric.points import attentions, mixture
from experiments.fabric.record import CAMPAIGN, COLUMNS
from experiments.fabric.smoke import smoke as smoke_points
from experiments.fabric.tables import every_point
from experiments.published import swiglu
from experiments.published.show.plots import DRAWN, draw
from experiments.published.show.results import FigureRows
from experiments.rows import RESULTS, moved_as_said, read, write
from step import Program, Simulator, run
from step.errors import InputError
from step.programs.metrics import metrics
from step_models.configurations import configuration
from step_models.fabrics import PUBLISHED
from step_models.weights import normal

SMOKE = ["fabric_smoke", "--jobs", "1", "--results"]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a smoke run."""
    folder = tmp_path_factory.mktemp("smoke")
    done = CliRunner().invoke(main, [*SMOKE, str(folder)])
    assert done.exception is None and "figure smoke, static: 269 cycles" in done.output
    return folder


def test_a_point_is_run_once_and_results_of_other_sources_are_refused(smoke: Path, tmp_path: Path) -> None:
    rows = CAMPAIGN.read(smoke, "smoke")
    kinds = ["static", "multiplexed", *(f"attention {each}" for each in ("coarse", "interleaved", "dynamic"))]
    assert [row["point"] for row in rows] == kinds
    assert all(int(row["cycles"]) > 0 and int(row["firings"]) > 0 and row["engine"] for row in rows)
    again = CliRunner().invoke(main, [*SMOKE, str(smoke)])
    assert again.exception is None and "figure smoke," not in again.output
    path = tmp_path / "fabric_smoke.csv"
    write(path, COLUMNS, [rows[0] | {"sources": "other"}, *rows[1:]])
    refused = CliRunner().invoke(main, [*SMOKE, str(tmp_path)])
    assert isinstance(refused.exception, InputError)
    message = f"{path} has results of other sources; remove it, give another --results, or run it --anew"
    assert str(refused.exception) == message
    anew = CliRunner().invoke(main, [*SMOKE, str(tmp_path), "--anew"])
    assert anew.exception is None and "[5/5] figure smoke" in anew.output


def test_bytes_of_the_arrangements_of_attention_are_the_same(smoke: Path) -> None:
    """Each reads the last tile of both caches, and then all tiles."""
    moved = {row["off_chip_bytes"] for row in CAMPAIGN.read(smoke, "smoke") if row["point"].startswith("attention")}
    assert len(moved) == 1


def test_every_run_moves_the_bytes_of_the_symbolic_metric(smoke: Path) -> None:
    rows = CAMPAIGN.read(smoke, "smoke")
    assert all(int(row["moved_bytes"]) == int(row["off_chip_bytes"]) > 0 for row in rows)
    assert moved_as_said(rows) == "5 of 5"
    assert moved_as_said([rows[0] | {"moved_bytes": "1"}, *rows[1:]]) == "4 of 5"


@pytest.mark.parametrize("rows", [2, None], ids=["static", "dynamic"])
def test_an_expert_without_rows_reads_nothing(rows: int | None) -> None:
    """Expert 1 has two rows, 0 and 2 have one, and 3 has none; each reads its three matrices once."""
    model = replace(configuration("Mixtral-8x7B"), hidden=32, inner=32, experts=4)
    point = mixture("small", model, np.array([[0, 1], [2, 1]]), rows=rows, columns=16, flops=64)
    program = point.make()
    result = Simulator(program).run().result
    weights = {name: each.bytes for name, each in result.traffic.items() if name.startswith("expert")}
    of_expert = [sum(count for name, count in weights.items() if f"expert{expert}_" in name) for expert in range(4)]
    assert of_expert == [3 * 32 * 32 * 2] * 3 + [0]
    row = record.measured(point)
    assert row["moved_bytes"] == row["off_chip_bytes"] == result.off_chip_bytes


def test_a_point_that_moves_other_bytes_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here one whose symbols are not those of its data."""
    point = next(each for each in smoke_points() if each.name == "static")
    wrong = replace(point, symbols={**point.symbols, "route_D0": point.symbols["route_D0"] + 2})
    campaign = replace(CAMPAIGN, figures={"smoke": lambda: iter([wrong])})
    _, told = campaign.find({"smoke": "digest"}, ("smoke", "static"))
    assert isinstance(told, str)
    assert re.fullmatch(r"static: the run moved 25,164 bytes off chip, but the symbolic metric says \d\d,\d{3}", told)


def test_lanes_give_the_published_operations_a_cycle() -> None:
    model = replace(configuration("Mixtral-8x7B"), hidden=32, inner=32, experts=4)
    point = mixture("small", model, np.array([[0, 1], [2, 1]]), rows=2, columns=16, flops=1024)
    fabric = point.make().fabric
    assert (fabric.matmul_lanes, fabric.vector_lanes, fabric.stages, fabric.link_bytes) == (512, 512, 1, 64)
    memory = fabric.memory
    assert memory.channels * memory.beat_bytes // memory.interval == 1024
    (coarse, *_) = attentions("small", np.array([3]), 64, size=16)
    assert coarse.make().fabric.matmul_lanes == 1024


@pytest.mark.parametrize("points", FIGURES.values(), ids=FIGURES)
def test_the_points_of_a_figure_have_names_of_their_own(points: Callable) -> None:
    names = [point.name for point in points()]
    assert len(set(names)) == len(names)


def test_a_table_has_the_published_cycles_or_those_of_the_published_timing() -> None:
    counts = {"off_chip_bytes": "", "on_chip_bytes": "3"}
    rows = [{"point": name, "cycles": "1500", **counts} for name in ("a", "b", "c")]
    published = {
        "a": {"point": "a", "cycles": "999", "published_cycles": "1000.0"},
        "b": {"point": "b", "cycles": "3000", "published_cycles": ""},
    }
    lines = every_point(rows, published, [("more", lambda row: row["point"] * 2)]).splitlines()
    assert lines[0].startswith("| point | cycles | published | ratio | more | off-chip bytes |")
    assert lines[2:] == [
        "| a | 1,500 | 1,000 | 1.500 | aa |  | 3 |",
        "| b | 1,500 | (3,000) | 0.500 | bb |  | 3 |",
        "| c | 1,500 |  |  | cc |  | 3 |",
    ]


def test_committed_results_are_those_of_points_that_there_are() -> None:
    for name, points in FIGURES.items():
        assert {row["point"] for row in CAMPAIGN.read(RESULTS, name)} <= {point.name for point in points()}


def test_the_validation_holds_on_the_dram_of_the_published_hdl() -> None:
    """Every row is that of a memory, one is run again, and the rows are as near to the HDL as they have to be."""
    points = {point.name: point for point in memories.points()}
    rows = memories.CAMPAIGN.by_point(RESULTS, "8")
    assert rows.keys() == points.keys() and len(rows) == 15 * len(memories.memories())
    for name in ("hbm2_2gb: 64x64", "hbm2: 64x256"):
        assert str(memories.measured(points[name])["cycles"]) == rows[name]["cycles"]
    found = memories.errors(RESULTS)
    assert found.mean <= 0.08 and max(found.of.values()) <= 0.15
    dram = validation.ON_DRAM.memory
    assert dram.dram is not None and dram.bandwidth == validation.MATCHED.memory.bandwidth
    assert round(1 - dram.dram.trfc / dram.dram.trefi, 3) == 0.959


def test_the_page_names_the_memory_of_the_validation() -> None:
    text = page(RESULTS)
    assert "This memory is ideal: 2 channels of 128 bytes every 2 cycles, 16 cycles later, without rows" in text
    assert "| tile | cycles of HDL | published timing | our fabric, ideal memory | on DRAM, `hbm2_2gb` | " in text
    assert "| multiplications a cycle of a unit | 4,096: a whole piece | 2,048 |" in text
    assert all(f"\n| {name} | " in text for name in memories.memories())


def test_figures_are_drawn(tmp_path: Path) -> None:
    assert draw(FigureRows(RESULTS, "fabric"), DRAWN, tmp_path) == []
    assert {path.name for path in tmp_path.iterdir()} == {f"fabric_fig{name}.svg" for name in DRAWN}


def test_the_best_and_the_worst_point_are_explained() -> None:
    def rows(**cycles: int) -> list[dict[str, str]]:
        return [{"point": name.replace("_", " "), "cycles": str(count)} for name, count in cycles.items()]

    tiles = rows(mixtral_8=30, mixtral_16=10, mixtral_dynamic=20, qwen_8=5)
    assert [row["point"] for row in explained.chosen(tiles)] == ["mixtral 16", "mixtral 8"]
    turns = rows(a_interleaved=10, a_dynamic=10, b_interleaved=10, b_dynamic=20, c_interleaved=30, c_dynamic=10)
    names = ["c interleaved", "c dynamic", "b interleaved", "b dynamic"]
    assert [row["point"] for row in explained.chosen(turns)] == names


def test_what_limits_a_point_is_kept(tmp_path: Path) -> None:
    rows = [row for row in CAMPAIGN.read(RESULTS, "8") if row["point"] in ("16x16", "64x64")]
    write(tmp_path / "fabric_fig8.csv", COLUMNS, rows)
    told: list[str] = []
    explained.run(["8"], tmp_path, told.append)
    assert told[0].startswith("figure 8, 64x64: `off-chip memory` bandwidth 85%, ")
    path = tmp_path / explained.FILE
    kept = read(path, explained.COLUMNS)
    assert [(row["point"], row["explained_cycles"]) for row in kept] == [("64x64", "9597"), ("16x16", "33696")]
    write(path, explained.COLUMNS, [row | {"limits": "as it was"} for row in kept])
    explained.run(["8"], tmp_path, told.append)
    assert {row["limits"] for row in read(path, explained.COLUMNS)} == {"as it was"} and len(told) == 2
    write(path, explained.COLUMNS, [row | {"sources": "other"} for row in kept])
    with pytest.raises(InputError) as refused:
        explained.run(["8"], tmp_path, told.append)
    message = f"{path} has results of other sources; remove it, give another --results, or run it --anew"
    assert str(refused.value) == message


def test_the_page_says_what_is_missing(tmp_path: Path) -> None:
    *kept, missing = CAMPAIGN.read(RESULTS, "15")
    write(tmp_path / "fabric_fig15.csv", COLUMNS, kept)
    text = page(tmp_path)
    assert "## Figure 15\n" in text and "## Figure 9\n" not in text
    assert f"\n- Figure 15: {missing['point']}\n" in text and "\n- Figure 14: 45 of 45 points\n" in text


def test_findings_need_whole_figures(tmp_path: Path) -> None:
    assert findings(tmp_path) == []


def test_hardware_must_have_room_for_any_routing() -> None:
    """All tokens at every expert: as static tiles with a row for each token of the batch."""
    for figure, tokens, rows in (("9", 64, "64"), ("10", 1024, "1024")):
        static = {row["point"]: int(row["on_chip_bytes"]) for row in CAMPAIGN.read(RESULTS, figure)}
        for model in ("mixtral", "qwen"):
            assert worst.TOKENS[figure] == tokens
            assert worst.known(RESULTS, figure)[f"{model} dynamic"] == static[f"{model} {rows}"]


def test_the_worst_case_is_measured() -> None:
    point = next(each for each in worst.dynamic("9") if each.name == "mixtral dynamic")
    assert set(point.symbols.values()) == {64, 128} and point.symbols["route_D3"] == 64
    row = worst.measured(point)
    assert (row["on_chip_bytes"], row["worst_on_chip_bytes"]) == (44122116, 56705028)
    shared = next(each for each in worst.dynamic("12") if each.name == "dynamic 32").symbols
    assert (shared["region5_turns_D0"], shared["region5_turns_rows"]) == (1, 64)


def test_a_capacity_chooses_what_fits() -> None:
    def row(name: str, cycles: int, size: int) -> dict[str, str]:
        return {"point": name, "cycles": str(cycles), "on_chip_bytes": str(size)}

    rows = [row("a", 30, 10), row("b", 20, 20), row("c", 10, 30)]
    measured = [capacity.fastest(rows, lambda each: int(each["on_chip_bytes"]), room) for room in (5, 10, 29, 30)]
    assert [each and each["point"] for each in measured] == [None, "a", "b", "c"]
    assert "| 10 | mixtral | 128 | 128: 14,774,839 | dynamic: 12,606,334 | none fits | 1.17 |  |" in capacity.table(
        RESULTS
    )


def test_what_products_take_of_the_critical_path() -> None:
    point = next(each for each in products.whole_tiles() if each.name == "64x256")
    assert products.measured(point) == {"cycles": 13079, "memory": 6667, "products": 5876}


def test_pieces_of_tiles_mean_what_whole_tiles_mean() -> None:
    """Bit for bit, as their sums have the same order, and with the same traffic."""
    sizes = {"batch": 8, "hidden": 16, "inner": 32}
    whole = swiglu.graph(4, 16, **sizes)
    random = np.random.default_rng(0)
    inputs = {name: normal(random, *tensor.shape) for name, tensor in whole.tensors.items()}
    wanted = run(Program(whole, inputs), "interpret").outputs["y"].numpy().ravel()
    for depth, width in ((16, 16), (8, 4), (4, 8)):
        pieces = validation.graph(4, 16, **sizes, depth=depth, width=width)
        assert np.array_equal(run(Program(pieces, inputs), "interpret").outputs["y"].numpy().ravel(), wanted)
        assert metrics(pieces).off_chip_bytes == metrics(whole).off_chip_bytes


def test_other_traces_are_parts_of_the_measured_one() -> None:
    names = [point.name for point in record.POINTS["traces"]()]
    assert len(set(names)) == len(names) == 2 * 16 * 5
    assert traces.names("qwen", 3) == ["qwen 3 8", "qwen 3 16", "qwen 3 32", "qwen 3 64", "qwen 3 dynamic"]


def test_an_interval_has_its_mean_inside() -> None:
    assert intervals.interval([2.0, 2.0]) == pytest.approx((2, 2))
    assert intervals.told([1.0, 4.0]) == "2.00 (0.51 to 7.78)"


def test_requests_go_to_the_region_with_the_fewest_tiles() -> None:
    lengths = np.array([40, 300, 10, 60, 500, 20])  # 2, 10, 1, 2, 16 and 1 tiles
    assert schedulers.assigned(lengths, range(6)) == [0, 1, 2, 3, 2, 0]
    assert schedulers.assigned(lengths, [4, 1, 3, 0, 5, 2]) == [3, 1, 3, 2, 0, 2]


def test_every_scheduler_has_every_batch() -> None:
    names = [point.name for point in schedulers.schedulers()]
    assert len(set(names)) == len(names) == 51 * 4
    assert {row["point"] for row in CAMPAIGN.read(RESULTS, "schedulers")} <= set(names)


def test_even_blocks_are_the_published_ones_in_batches_of_64() -> None:
    even = scheduling.gains(RESULTS)[64]
    assert even["even"] == even["coarse"] and len(even["even"]) == 15


def test_the_memory_of_dram_is_as_fast_as_the_ideal_one() -> None:
    assert dram.memory().bandwidth == PUBLISHED.memory.bandwidth and dram.memory().dram is not None


def test_a_point_on_dram_has_its_area_and_its_energy(smoke: Path) -> None:
    ideal = {row["point"]: int(row["cycles"]) for row in CAMPAIGN.read(smoke, "smoke")}
    point = next(each for each in smoke_points() if each.name == "multiplexed")
    row = dram.measured(dram.moved(point, point.name, 8))
    assert row["cycles"] > ideal["multiplexed"]  # type: ignore[operator]
    assert row["moved_bytes"] == row["off_chip_bytes"]
    assert all(int(str(row[name])) > 0 for name in ("picojoules", "lut_sites", "multipliers", "block_rams"))


def test_what_is_said_of_dram_needs_its_rows(tmp_path: Path) -> None:
    assert on_dram.words(tmp_path) == [] and on_dram.costs(tmp_path) == [] and list(on_dram.findings(tmp_path)) == []
    assert scheduling.part(tmp_path) == [] and list(scheduling.findings(tmp_path)) == []


def test_points_on_dram_are_those_of_the_figures() -> None:
    for figure in dram.SHOWN:
        assert on_dram.known(RESULTS, figure).keys() <= {point.name for point in FIGURES[figure]()}
