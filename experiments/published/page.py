"""The page about the published figures, made of their result files: ``python -m experiments.published.page PATH``."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.published.claims import Row, improvement, losses, number, speedups, table

RESULTS = Path(__file__).parents[1] / "results"
ALL_CHARGED = {"qwen": 113_266_690}
"""On-chip bytes of dynamic tiles, batch 64, if experts without tokens count as they do for static tiles."""
PUBLISHED_IMPROVEMENT = {("9", "mixtral"): 1.33, ("9", "qwen"): 2.11, ("10", "mixtral"): 1.86}
FILES = {"8": "fig8", "9": "fig9", "10": "fig10", "12": "fig12", "14": "fig14", "15": "fig15", "fair": "equal_compute"}

INTRODUCTION = """# The published evaluation, on the published timing

The numbers below come from the back end `published`, which follows the timing rules of the paper's simulator, and not
from our fabric. `python -m experiments.published` runs all figures, and goes on where it was interrupted;
`python -m experiments.published.page docs/evaluation-published.md` makes this page of `experiments/results`.
A blank cell has no published number, or no result yet. Each figure names the digest of the sources it was run with;
files of other digests than the present one are shown here, but are to be removed before the figure is run again."""


def read(folder: Path) -> dict[str, list[Row]]:
    """The rows of each figure that there are."""
    found: dict[str, list[Row]] = {}
    for figure, name in FILES.items():
        path = folder / f"published_{name}.csv"
        if path.exists():
            with path.open(newline="") as file:
                found[figure] = list(csv.DictReader(file))
    return found


def page(figures: dict[str, list[Row]]) -> str:
    """Claims, then the points of each figure, then what is missing."""
    parts = [
        INTRODUCTION,
        "## Claims",
        "\n".join([*_HEAD, *_tiling(figures), *_multiplexing(figures), *_attention(figures)]),
    ]
    parts += [
        f"## Figure {name}\n\nSources {_sources(rows)}.\n\n{table(rows)}"
        for name, rows in figures.items()
        if name != "fair"
    ]
    return "\n\n".join(parts) + "\n"


def _sources(rows: list[Row]) -> str:
    """The digests of the sources that the rows were made with."""
    return ", ".join(f"`{each}`" for each in sorted({str(row["sources"]) for row in rows}))


_HEAD = ("| claim | published | reproduced | fair | |", "|---|---:|---:|---:|---|")


def _tiling(figures: dict[str, list[Row]]) -> list[str]:
    """How far dynamic tiles are from the front of static ones."""
    lines = []
    fair = {str(row["point"]): row for row in figures.get("fair", ())}
    for (figure, model), published in PUBLISHED_IMPROVEMENT.items():
        rows = figures.get(figure, [])
        found = improvement(rows, model)
        if found is None:
            continue
        equal = fair.get(f"{model} batch {64 if figure == '9' else 1024}")
        again, words = "", "Dynamic tiles have 6400 operations a cycle, static ones 4096."
        if equal is not None:
            changed: dict[str, object] = {"point": f"{model} dynamic", "cycles": equal["cycles"]}
            changed["on_chip_bytes"] = ALL_CHARGED.get(model, equal["on_chip_bytes"])
            others = [row for row in rows if row["point"] != f"{model} dynamic"]
            again = f"{improvement([*others, changed], model):.2f}"
            words += " Fair: 4096 for both" + (", and unused experts count for both." if model in ALL_CHARGED else ".")
        claim = f"distance of dynamic tiles from the front, {model}, figure {figure}"
        lines.append(f"| {claim} | {published} | {found:.2f} | {again} | {words} |")
    return lines


def _multiplexing(figures: dict[str, list[Row]]) -> list[str]:
    """How much better operators are used on 32 regions than on 128, by the paper's count of allocated compute."""
    rows = {str(row["point"]): row for row in figures.get("12", ())}
    if not {"static 128", "static 32"} <= rows.keys():
        return []
    cost = {n: number(rows[f"static {n}"]["cycles"]) * 1024 * (5 * n + 128 + 1) for n in (128, 32)}
    words = "The utilizations themselves are 2.33 times too high in the paper, which counts SiLU once per D; "
    words += "their ratio is not touched by that."
    found = f"{cost[128] / cost[32]:.2f}"
    return [f"| utilization on 32 regions over 128, static tiles, figure 12 | 2.64 | {found} | {found} | {words} |"]


def _attention(figures: dict[str, list[Row]]) -> list[str]:
    """How much regions gain that are handed work when they are free."""
    lines = []
    for batch, published in ((16, 2.72), (64, 1.43)):
        gains = speedups([row for row in figures.get("15", ()) if f"B={batch} " in str(row["point"])], "coarse")
        words = "Coarse blocks of 16 requests leave all regions but one idle." if batch == 16 else "All regions work."
        lines += [
            f"| dynamic over coarse, figure 15, batch {batch} | {published} | {gain:.2f} | | {words} |"
            for gain in gains.values()
        ]
    rows = figures.get("14", [])
    if rows:
        lost = losses(rows)
        words = f"It loses {len(lost)} of {len(speedups(rows, 'coarse'))} batches that were run"
        words += f": {', '.join(lost)}." if lost else "."
        lines.append(f"| dynamic wins in each batch | yes | {'no' if lost else 'yes'} | | {words} |")
    return lines


def main(arguments: Sequence[str]) -> None:
    """Write the page to the file named by the only argument."""
    from step.host.files import write_atomically

    (path,) = arguments
    write_atomically(Path(path), page(read(RESULTS)).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
