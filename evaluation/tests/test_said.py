"""No page says a number that was written by hand, or a sentence that its results do not bear out."""

from __future__ import annotations

import ast
import csv
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments import page as whole
from experiments.__main__ import main
from experiments.beyond import page as beyond_page
from experiments.fabric import page as fabric_page
from experiments.fabric.findings import findings
from experiments.published import page as published_page
from experiments.published.show.plots import plot
from experiments.published.show.results import FigureRows
from experiments.rows import RESULTS, ROOT, read, write
from experiments.said import filled, laid_out, listed, nested, said, span
from step.errors import Defect

PROSE = 4
"""Words from which on a text is one."""
NAMES = re.compile(
    r"`[^`]*`|\{[^}]*\}|[Ff]ig(?:ure)?s?\.? \d+(?:(?:,| and|, and) \d+)*|Qwen3|\b10\^6\b|\b\w+://\S+|\]\([^)]*\)"
)
"""What has digits that are no results: code, names in braces, figures, models, units, and addresses."""
CLAIMS, PUBLISHED, FABRIC, BEYOND = "claims", "published", "fabric", "beyond"
PARTS: dict[str, Callable[[Path], str]] = {
    CLAIMS: whole.claimed,
    PUBLISHED: published_page.page,
    FABRIC: fabric_page.page,
    BEYOND: beyond_page.page,
}
"""Of the page."""

EXPERIMENTS = ROOT / "evaluation" / "experiments"


def texts(source: str) -> Iterator[str]:
    """The texts of a module that are no documentation, with ``{}`` for what is computed in them."""
    tree = ast.parse(source)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in documentation | inside and isinstance(node.value, str):
            yield node.value


POINTS = {row["point"] for path in RESULTS.glob("*.csv") for row in read(path)}


def by_hand(text: str) -> bool:
    """Whether it is prose with a number in it, and no name of points."""
    if any(point.endswith(text) for point in POINTS):
        return False
    return len(text.split()) >= PROSE and re.search(r"\d", NAMES.sub("", text)) is not None


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.rglob("*.py")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_number_stands_in_a_text_of_a_module(path: Path) -> None:
    assert [text for text in texts(path.read_text()) if by_hand(text)] == []


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.rglob("*.md")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_number_stands_in_a_template(path: Path) -> None:
    assert [line for line in path.read_text().splitlines() if by_hand(line)] == []


def test_a_number_that_is_written_by_hand_is_found() -> None:
    lines = (
        '"""In 3 modules."""',
        'A = f"They are within 0.7 % of {2} in Figure 10"',
        'B = "64x64"',
        'C = f"{A:.2f} in Figure 9"',
    )
    source = "\n".join(lines)
    assert [text for text in texts(source) if by_hand(text)] == ["They are within 0.7 % of {} in Figure 10"]


def cells(line: str) -> list[str]:
    return [each.strip() for each in line.strip().strip("|").split("|")]


def test_the_page_of_the_evaluation_says_what_its_tables_say() -> None:
    """Rows of claims are rows there, and every number of its text stands there too."""
    written, made = (ROOT / "docs" / "evaluation.md").read_text(), whole.page(RESULTS)
    known = {cells(line)[0]: cells(line)[1:] for line in made.splitlines() if line.startswith("| ")}
    columns = known["claim"]
    shown: list[str] = []
    for line in filter(lambda line: line.startswith("| "), written.splitlines()):
        claim, *values = cells(line)
        if claim == "claim":
            shown = values
        elif shown:
            assert values == [known[claim][columns.index(each)] for each in shown], claim
    prose = " ".join(line for line in written.splitlines() if not line.startswith("|"))
    numbers = {each.rstrip(".,") for each in re.findall(r"(?<![\w.])\d[\d,.]*%?", prose)}
    assert len(numbers) > 30
    assert [each for each in numbers if not re.search(rf"(?<![\d.,]){re.escape(each)}(?![\d%]|\.\d)", made)] == []


def test_pictures_of_the_evaluation_are_those_of_its_rows() -> None:
    shown = re.findall(r"\]\(fabric_fig(\d+)\.svg\)", (ROOT / "docs" / "evaluation.md").read_text())
    assert len(shown) == 6
    for name in shown:
        assert (ROOT / "docs" / f"fabric_fig{name}.svg").read_bytes() == plot(name, FigureRows(RESULTS, "fabric"))


def test_the_page_and_its_pictures_are_written_without_a_run(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["--show", "--pages", str(tmp_path)])
    assert done.exception is None and done.output == f"{whole.NAME} is in {tmp_path}\n"
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written.keys() == {whole.NAME, *(f"beyond_{part}.svg" for part in beyond_page.PARTS)}


@pytest.mark.parametrize(
    "name, file, point, column, value, told",
    [
        (PUBLISHED, "published_fig14", "conv_stdev0477_0271_0334 coarse", "cycles", 43000, "exactly as many"),
        (PUBLISHED, "published_fig8", "16x16", "cycles", 33000, "published points of the simulator are equal"),
        (CLAIMS, "products_fig8", "64x256", "products", 100, "products on the critical path are more"),
        (CLAIMS, "memories_fig8", "hbm2_2gb: 64x16", "cycles", 10**6, "while HDL has DRAM"),
        (CLAIMS, "published_fig8", "64x256", "cycles", 8000, "an operator loads or computes"),
        (CLAIMS, "fabric_fig17", "qwen dynamic", "cycles", 1000000, "which is so for no share of ours"),
        (FABRIC, "queues_fig15", "B=64, depth 4, interleaved", "cycles", 90000, "because its channels hold one"),
        (FABRIC, "fabric_fig15", "B=64 interleaved", "cycles", 73000, "because its channels hold one"),
        (FABRIC, "fabric_fig9", "qwen 8", "fabric", '{"matmul_lanes": 3200}', "4096 in Figure 9"),
        (CLAIMS, "beyond_mixtures", "mixtral batch 16 skew 0.0 tiles 64 regions 8", "cycles", 10**9, "save the choice"),
        (CLAIMS, "beyond_arrivals", "deviation 0.0 load 1.0 interleaved", "latency", 10**6, "pay against blocks"),
    ],
)  # fmt: skip
def test_a_sentence_that_results_do_not_bear_out_is_refused(
    tmp_path: Path, name: str, file: str, point: str, column: str, value: object, told: str
) -> None:
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True)
    rows = read(tmp_path / f"{file}.csv")
    assert any(row["point"] == point for row in rows)
    changed = [row | {column: str(value)} if row["point"] == point else row for row in rows]
    write(tmp_path / f"{file}.csv", list(rows[0]), changed)
    with pytest.raises(Defect, match=rf"^the results do not bear this out: .*{re.escape(told)}"):
        PARTS[name](tmp_path)


def test_the_readme_says_what_results_say() -> None:
    """Its table repeats findings of the evaluation, with what does not pay, and its runs are as short as it says."""
    readme = " ".join((ROOT / "README.md").read_text().split())
    gains = re.findall(r"(\d\.\d\d) times as fast", readme)
    ((freed, slower),) = re.findall(r"(\d+)% less on-chip memory\*\* for (\d+\.\d)% more cycles", readme)
    (batches,) = re.findall(r"means of (\d+) batches", readme)
    (seconds,) = re.findall(r"less than (\d+) seconds on one core", readme)
    found = findings(RESULTS)
    starts = (
        f"**Dynamic regions against even blocks**, a block of equal count for each region ({batches} batches).",
        f"**Dynamic regions against interleaved ones** (Figures 14 and 21, {batches} batches).",
        f"**Dynamic regions against coarse blocks** (Figures 14 and 21, {batches} batches).",
    )
    for start, gain in zip(starts, gains, strict=True):
        assert any(each.startswith(f"{start} They are {gain} ") for each in found), start
    assert re.search(r"blocks of 16, as published: batches of 16 leave (\d)", readme)[1] == "3"  # type: ignore[index]
    assert any("Blocks of 16, as published, leave 3 of 4 regions idle in batches of 16" in each for each in found)
    (known,) = re.findall(r"takes (\d\.\d\d) times the cycles of dynamic regions", readme)
    assert any(f"longest to the fewest tiles: {known} (" in each for each in found)
    shared = f"With tiles of dynamic size the price is +{slower}% cycles, the gain {freed}% less of the memory"
    assert any(shared in each for each in found)
    ((tie, slow, small),) = re.findall(
        r"best static ones at batch 64 \((\S+)\), and at batch 1024 the best static ones of Mixtral take (\S+) times "
        r"the cycles in (\S+) times the memory",
        readme,
    )
    tiles = {name: each for each in found for name in re.findall(r"^\*\*Tiles of dynamic size\*\* \((.*?)\)", each)}
    small_batches = [text for name, text in tiles.items() if name.endswith("batch 64")]
    assert len(small_batches) == 2 and all(f"(32 rows) take {tie} times the cycles" in text for text in small_batches)
    assert f"take {slow} times the cycles and {small} times the memory" in tiles["Figure 10, Mixtral, batch 1024"]
    rows = [row for name in ("fig12", "fig14", "fig21", "schedulers") for row in read(RESULTS / f"fabric_{name}.csv")]
    assert max(float(row["cpu_seconds"]) for row in rows) < int(seconds)


@cache
def all_tables() -> str:
    return whole.page(RESULTS)


FILES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if number % 5 else [])
    for number, path in enumerate(sorted(RESULTS.glob("*.csv")))
    if not path.stem.startswith("streamtensor")  # they have a page of their own
]


@pytest.mark.parametrize("path", FILES)
def test_no_result_file_is_left_out(path: Path, tmp_path: Path) -> None:
    """Without it the page is another one."""
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True)
    (tmp_path / path.name).unlink()
    assert whole.page(tmp_path) != all_tables()


def test_templates_have_values_for_names(tmp_path: Path) -> None:
    path = tmp_path / "introduction.md"
    path.write_text("# {count} units\n")
    assert filled(path, count=3) == "# 3 units"
    with pytest.raises(KeyError):
        filled(path)


def test_sentences_are_said_or_refused() -> None:
    assert said("Three are more than two.", True, 3 > 2) == "Three are more than two."
    with pytest.raises(Defect, match=r"^the results do not bear this out: Two are more\.$"):
        said("Two are more.", 3 > 2, 2 > 3)


def test_a_part_goes_one_level_down() -> None:
    assert nested("# Part\n\nSee #1.\n\n## Table\n") == "## Part\n\nSee #1.\n\n### Table"


def test_prose_is_folded_and_tables_are_not() -> None:
    table, item = f"| {'cell ' * 40}|", f"* {'word ' * 30}end"
    folded = laid_out(f"{table}\n\n{item}").split("\n")
    assert folded[:2] == [table, ""] and len(folded) == 4
    assert folded[2].startswith("* word") and folded[3].startswith("  word") and folded[3].endswith("end")
    assert max(map(len, folded[2:])) <= 120


def test_lists_and_spans() -> None:
    assert [listed(range(count)) for count in (1, 2, 3)] == ["0", "0 and 1", "0, 1 and 2"]
    assert span([2, 1.004, 1.5]) == "1.00 to 2.00" and span([1.001, 1.002]) == "1.00" and span([0.5], ".0%") == "50%"


def test_recorded_numbers_have_a_source() -> None:
    with (EXPERIMENTS / "published" / "recorded.csv").open(newline="") as file:
        assert all(row["file"].endswith(".csv") and int(row["cycles"]) > 0 for row in csv.DictReader(file))
