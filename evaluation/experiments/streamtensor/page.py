"""docs/streamtensor.md: language models beside the numbers that StreamTensor publishes, of the result files.

``python -m experiments.streamtensor.page`` writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.rows import RESULTS, ROOT, Row, read
from experiments.said import filled, laid_out
from experiments.streamtensor import compiling, layers, small, valued
from experiments.streamtensor.models import GROUP
from experiments.streamtensor.points import CAMPAIGN, CLOCKS, MAPPINGS, MEGAHERTZ, PARTS, SHOWN, TOGETHER, WIDE
from step import machines
from step.host.files import write_atomically

PAGE = ROOT / "docs" / "streamtensor.md"
OURS = "**ours** (U55C)"
LENGTHS = (32, 64, 128, 256)
TRIED = 12
"""Mappings that were tried by hand, about."""
KEPT = 14.8, 16.8
"""Percents of the intermediates of a layer that StreamTensor keeps, the least and the most (its Figure 10a)."""


def page(results: Path) -> str:
    """The page, with all of its numbers from ``results`` and the published table."""
    tokens, prompts = (CAMPAIGN.read(results, figure) for figure in ("tokens", "prompts"))
    published = read(Path(__file__).with_name("published.csv"))
    fast = next(row for row in _of_gpt2(tokens) if row["past"] == str(SHOWN))
    text = filled(
        Path(__file__).with_name("page.md"),
        lengths=_lengths(tokens, prompts, published),
        least=min(int(row["past"]) for row in _of_gpt2(tokens)),
        tried=TRIED,
        models=_models(tokens),
        clocks=_clocks(tokens),
        small=_small(small.CAMPAIGN.read(results, "small")),
        valued=_valued(valued.CAMPAIGN.read(results, "valued")),
        layers=_layers(layers.CAMPAIGN.read(results, "layers")),
        rows=layers.ROWS,
        compiled=compiling.table(compiling.CAMPAIGN.read(results, "compile")),
        theirs="{} to {} %".format(*KEPT),
        parts=_parts(tokens),
        units=MAPPINGS["fast"].units,
        wide=WIDE,
        together=TOGETHER,
        port=round(machines.U55C.at(together=TOGETHER).bandwidth / machines.U55C.channels * TOGETHER),
        shown=SHOWN,
        rows_of_chunk=MAPPINGS["chunks"].chunk,
        contexts=", ".join(row["past"] for row in _of_gpt2(tokens)),
        group=GROUP,
        source=published[0]["source"],
        times=f"{float(fast['cycles']) / float(fast['bound']):.2f}",
    )
    return laid_out(text) + "\n"


def _of_gpt2(tokens: Sequence[Row]) -> list[Row]:
    """Rows of GPT-2 on the hardware that takes chunks, the shortest text first."""
    found = (row for row in tokens if row["mapping"] == "chunks")
    return sorted(found, key=lambda row: int(row["past"]))


def _compared(tokens: Sequence[Row], megahertz: float = MEGAHERTZ) -> list[Row]:
    """Rows of the tokens that are compared between models, at a clock."""
    return [row for row in tokens if row["past"] == str(SHOWN) and row["megahertz"] == str(megahertz)]


def token_cycles(tokens: Sequence[Row], past: np.ndarray) -> np.ndarray:
    """Cycles of GPT-2's tokens behind so many, on lines between those that were measured."""
    rows = _of_gpt2(tokens)
    return np.interp(past, [int(row["past"]) for row in rows], [float(row["cycles"]) for row in rows])


def _lengths(tokens: Sequence[Row], prompts: Sequence[Row], published: Sequence[Row]) -> str:
    found = list[Row]()
    for count in LENGTHS:
        first = next(float(row["cycles"]) for row in prompts if row["prompt"] == str(count))
        behind = token_cycles(tokens, np.arange(count, 2 * count - 1)).sum()
        second = 1e6 * MEGAHERTZ * (count - 1) / behind
        numbers = ((first + behind) / MEGAHERTZ / 1000, first / MEGAHERTZ / 1000, second)
        named = zip(("latency_ms", "first_ms", "tokens_a_second"), map("{:.2f}".format, numbers), strict=True)
        found.append({"system": OURS, "tokens": str(count), **dict(named)})
    systems = list(dict.fromkeys(row["system"] for row in [*found, *published]))
    by = {(row["system"], row["tokens"]): row for row in [*found, *published]}
    lines = [
        f"| {system} | " + " | ".join(_cell(by[system, str(count)]) for count in LENGTHS) + " |" for system in systems
    ]
    head = "| in:out, tokens | " + " | ".join(f"{count}:{count}" for count in LENGTHS) + " |"
    return "\n".join([head, "|---|" + "---|" * len(LENGTHS), *lines])


def _cell(row: Row) -> str:
    return f"{float(row['latency_ms']):,.0f} / {float(row['first_ms']):,.0f} / {float(row['tokens_a_second']):,.0f}"


def _models(tokens: Sequence[Row]) -> str:
    lines = [
        "| model, mapping | cycles to read the weights | cycles of a token | times | token/s |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['model']}, {row['mapping']} | {_beside_bound(row)} |"
        for row in _compared(tokens)
        if row["mapping"] != "small"
    ]
    return "\n".join(lines)


def _clocks(tokens: Sequence[Row]) -> str:
    lines = ["| MHz | cycles to read the weights | cycles of a token | times | token/s |", "|---|---|---|---|---|"]
    for megahertz in (MEGAHERTZ, *CLOCKS):
        rows = (row for row in _compared(tokens, megahertz) if row["point"].startswith("gpt2 fast"))
        lines += [f"| {megahertz} | {_beside_bound(row)} |" for row in rows]
    return "\n".join(lines)


def _beside_bound(row: Row) -> str:
    cycles, bound = float(row["cycles"]), int(row["bound"])
    return f"{bound:,} | {cycles:,.0f} | {cycles / bound:.2f} | {_a_second(row)}"


def _small(rows: Sequence[Row]) -> str:
    lines = ["| model | operators | cycles in RTL | in the fast model | tokens | off | outputs |", "|" + "---|" * 7]
    for row in rows:
        numbers = (f"{int(row[each]):,}" for each in ("operators", "rtl_cycles", "model_cycles", "tokens", "off"))
        outputs = "equal" if row["outputs_equal"] == "True" else "**differ**"
        lines.append(f"| {row['point']} | {' | '.join(numbers)} | {outputs} |")
    return "\n".join(lines)


def _valued(rows: Sequence[Row]) -> str:
    """Outputs that are equal, and tokens that are those of torch, by models."""
    return ", ".join(
        "`{point}` {equal} of {outputs} outputs and {as_torch} of {tokens} tokens".format(**row) for row in rows
    )


def _layers(rows: Sequence[Row]) -> str:
    lines = ["| a layer of | bytes held | of what operators compute | of products and attention |", "|---|---|---|---|"]
    for row in rows:
        held, computed, large = (int(row[each]) for each in ("held", "computed", "large"))
        lines.append(f"| {row['point']} | {held:,} | {held / computed:.1%} | {held / large:.1%} |")
    return "\n".join(lines)


def _a_second(row: Row) -> str:
    return f"{1e6 * float(row['megahertz']) / float(row['cycles']):,.0f}"


def _parts(tokens: Sequence[Row]) -> str:
    there = machines.U55C.parts
    lines = ["| model, mapping | " + " | ".join(PARTS) + " | token/s |", "|---|" + "---|" * (len(PARTS) + 1)]
    for row in _compared(tokens):
        shares = (f"{int(row[each]):,} ({int(row[each]) / there[each]:.0%})" for each in PARTS)
        lines.append(f"| {row['model']}, {row['mapping']} | {' | '.join(shares)} | {_a_second(row)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    write_atomically(PAGE, page(RESULTS).encode())
