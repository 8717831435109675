"""docs/streamtensor.md: language models beside the numbers that StreamTensor publishes, of the result files.

``python -m experiments.streamtensor.page`` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.rows import RESULTS, ROOT, Row, read
from experiments.said import filled, laid_out
from experiments.streamtensor import ablations, cards, compiling, energy, layers, small, valued
from experiments.streamtensor.models import GROUP
from experiments.streamtensor.points import (
    CAMPAIGN,
    MAPPINGS,
    MEGAHERTZ,
    OTHERS,
    PARTS,
    PROMPTS,
    SHOWN,
    WITHIN,
    Point,
)
from step import machines
from step.host.files import write_atomically
from step.programs.energy.model import PARTS as ENERGIES

PAGE = ROOT / "docs" / "streamtensor.md"
OURS = "**ours** (U55C)"
GPU = "A100"
"""The system that StreamTensor compares its energy with."""
LENGTHS = (32, 64, 128, 256)
TRIED = 12
"""Mappings that were tried by hand, about."""
KEPT = 14.8, 16.8
"""Percents of the intermediates of a layer that StreamTensor keeps, the least and the most (its Figure 10a)."""
DEPTHS_OF = 2
"""Layers whose channels' depths all others have."""


def page(results: Path) -> str:
    """The page, with all of its numbers from ``results`` and the published table."""
    tokens, prompts = (CAMPAIGN.read(results, figure) for figure in ("tokens", "prompts"))
    published = read(Path(__file__).with_name("published.csv"))
    beside = {row["model"]: row for row in read(Path(__file__).with_name("published_energy.csv"))}
    theirs = next(row for row in published if row["tokens"] == str(SHOWN))
    fast = _shown(tokens, "fast")
    text = filled(
        Path(__file__).with_name("page.md"),
        lengths=_lengths(tokens, prompts, published),
        tried=TRIED,
        others=_others(tokens, prompts),
        others_of="/".join(str(each) for each in PROMPTS if each <= SHOWN),
        depths_of=DEPTHS_OF,
        models=_models(tokens),
        megahertz=MEGAHERTZ,
        energy=_energy(energy.CAMPAIGN.read(results, "energy"), beside),
        watts=beside["gpt2"]["watts"],
        a_joule=_a_joule(1e6 * MEGAHERTZ / float(fast["cycles"]), beside["gpt2"]),
        their_joule=_a_joule(float(theirs["tokens_a_second"]), beside["gpt2"]),
        cards=_cards(cards.CAMPAIGN.read(results, "cards")),
        gigabits=round(8 * cards.LINK_BYTES / 1e9),
        microseconds=cards.LINK_NS // 1000,
        **{what: _ablations(ablations.CAMPAIGN.read(results, "ablations"), what) for what in ablations.VARIANTS},
        prompt_of_layer=ablations.ROWS,
        small=_small(small.CAMPAIGN.read(results, "small")),
        layers=_layers(layers.CAMPAIGN.read(results, "layers")),
        rows=layers.ROWS,
        on_chip=layers.ON_CHIP // 1024,
        kept="{} to {} %".format(*KEPT),
        shown=SHOWN,
        rows_of_chunk=MAPPINGS[WITHIN].chunk,
        part=f"{1e6 * MEGAHERTZ / float(_shown(tokens, WITHIN)['cycles']):,.0f}",
        compiled=compiling.said(compiling.CAMPAIGN.read(results, "compile")),
        valued=_valued(valued.CAMPAIGN.read(results, "valued")),
        contexts=", ".join(row["past"] for row in _of_gpt2(tokens)),
        group=GROUP,
        source=published[0]["source"],
    )
    return laid_out(text) + "\n"


def _of_gpt2(tokens: Sequence[Row]) -> list[Row]:
    """Rows of GPT-2 on the hardware that takes chunks, the shortest text first."""
    return sorted(
        (row for row in tokens if (row["model"], row["mapping"]) == ("gpt2", WITHIN)), key=lambda row: int(row["past"])
    )


def _shown(tokens: Sequence[Row], mapping: str) -> Row:
    """The row of GPT-2 on a mapping."""
    name = Point("gpt2", mapping, MEGAHERTZ, SHOWN).name  # type: ignore[arg-type]
    return next(row for row in tokens if row["point"] == name)


def token_cycles(tokens: Sequence[Row], past: np.ndarray) -> np.ndarray:
    """Cycles of GPT-2's tokens behind so many, on lines between those that were measured."""
    rows = _of_gpt2(tokens)
    return np.interp(past, [int(row["past"]) for row in rows], [float(row["cycles"]) for row in rows])


def _lengths(tokens: Sequence[Row], prompts: Sequence[Row], published: Sequence[Row]) -> str:
    found = list[Row]()
    firsts = {int(row["prompt"]): float(row["cycles"]) for row in prompts if row["model"] == "gpt2"}
    for count in firsts.keys() & {*LENGTHS}:
        first = firsts[count]
        behind = token_cycles(tokens, np.arange(count, 2 * count - 1)).sum()
        second = 1e6 * MEGAHERTZ * (count - 1) / behind
        numbers = ((first + behind) / MEGAHERTZ / 1000, first / MEGAHERTZ / 1000, second)
        named = zip(("latency_ms", "first_ms", "tokens_a_second"), map("{:.2f}".format, numbers), strict=True)
        found.append({"system": OURS, "tokens": str(count), **dict(named)})
    systems = list(dict.fromkeys(row["system"] for row in [*found, *published]))
    by = {(row["system"], row["tokens"]): row for row in [*found, *published]}
    lines = [
        f"| {system} | " + " | ".join(_cell(by.get((system, str(count)))) for count in LENGTHS) + " |"
        for system in systems
    ]
    head = "| in:out, tokens | " + " | ".join(f"{count}:{count}" for count in LENGTHS) + " |"
    return "\n".join([head, "|---|" + "---|" * len(LENGTHS), *lines])


def _others(tokens: Sequence[Row], prompts: Sequence[Row]) -> str:
    """Milliseconds to the first token of every model's prompts, and how many times the bound one behind them takes."""
    said = list[str]()
    for model in OTHERS:
        rows = [row for row in prompts if row["model"] == model]
        firsts = "/".join(f"{float(row['cycles']) / MEGAHERTZ / 1000:,.0f}" for row in rows)
        mine = (row for row in tokens if row["model"] == model and row["mapping"] != "fast")
        times = "/".join(f"{float(row['cycles']) / int(row['bound']):.2f}" for row in mine)
        said.append(f"`{model}` {firsts} ms, {times}")
    return "; ".join(said)


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    return "/".join(f"{float(row[each]):,.0f}" for each in ("latency_ms", "first_ms", "tokens_a_second"))


def _models(tokens: Sequence[Row]) -> str:
    """Tokens behind `SHOWN`, with what of the part is used."""
    there = machines.U55C.parts
    lines = [
        f"| model | bound, cycles | a token | times | token/s | {' | '.join(PARTS)} |",
        "|---" * (5 + len(PARTS)) + "|",
    ]
    shown = (each for each in tokens if each["past"] == str(SHOWN) and each["mapping"] != "small")
    for row in (each for each in shown if each["model"] not in OTHERS or each["mapping"] == "fast"):
        other = f", {row['mapping']}" * (row["mapping"] != "fast")
        other += f", {row['megahertz']} MHz" * (row["megahertz"] != str(MEGAHERTZ))
        cycles, bound = float(row["cycles"]), int(row["bound"])
        shares = " | ".join(f"{int(row[each]) / there[each]:.0%}" for each in PARTS)
        second = f"{1e6 * float(row['megahertz']) / cycles:,.0f}"
        lines.append(
            f"| {row['model']}{other} | {bound:,} | {cycles:,.0f} | {cycles / bound:.2f} | {second} | {shares} |"
        )
    return "\n".join(lines)


def _small(rows: Sequence[Row]) -> str:
    """Cycles of every model, and what is off."""
    cycles = ", ".join(f"{row['point']} {int(row['rtl_cycles']):,}" for row in rows)
    off, tokens = (sum(int(row[each]) for row in rows) for each in ("off", "tokens"))
    equal = sum(row["outputs_equal"] == "True" for row in rows)
    return f"{cycles} cycles; {off} of {tokens:,} tokens off, outputs equal for {equal} of {len(rows)}"


def _valued(rows: Sequence[Row]) -> str:
    """Outputs that are equal, and tokens that are those of torch."""
    equal, outputs, same, tokens = (
        sum(int(row[each]) for row in rows) for each in ("equal", "outputs", "as_torch", "tokens")
    )
    return f"{equal} of {outputs} outputs, and {same} of {tokens} tokens"


def _layers(rows: Sequence[Row]) -> str:
    what = "of what operators compute", "of products and attention", "of these, all on chip"
    lines = [f"| a layer of | {' | '.join(what)} |", "|---|---|---|---|"]
    for row in rows:
        held, whole, computed, large = (int(row[each]) for each in ("held", "whole", "computed", "large"))
        lines.append(f"| {row['point']} | {held / computed:.1%} | {held / large:.1%} | {whole / large:.1%} |")
    return "\n".join(lines)


def _energy(rows: Sequence[Row], beside: Mapping[str, Row]) -> str:
    lines = [f"| model | mJ a token | tokens/J | StreamTensor, by an {GPU} |", "|---|---|---|---|"]
    for row in rows:
        total = sum(float(row[each]) for each in ENERGIES)
        theirs = beside[row["point"]]["times_a100"] or "-"
        lines.append(f"| {row['point']} | {total / 1e9:.2f} | {1e12 / total:,.0f} | {theirs} |")
    return "\n".join(lines)


def _a_joule(second: float, beside: Row) -> str:
    """Tokens a joule of a board with the power that is stated, which writes so many a ``second``."""
    return f"{second / float(beside['watts']):.2f}"


def _cards(rows: Sequence[Row]) -> str:
    lines = [f"| cards | requests | token/s | first behind {cards.PROMPT}, ms |", "|---|---|---|---|"]
    for row in rows:
        second = 1e6 * MEGAHERTZ * int(row["requests"]) / float(row["cycles"])
        first = f"{float(row['first']) / MEGAHERTZ / 1000:.1f}"
        lines.append(f"| {row['cards']} | {row['requests']} | {second:,.0f} | {first} |")
    return "\n".join(lines)


def _ablations(rows: Sequence[Row], what: str) -> str:
    """Variants of ``what``, side by side."""
    rows = [row for row in rows if row["what"] == what]
    cycles = [f"{float(row['cycles']):,.0f}" if row["cycles"] else "deadlock" for row in rows]
    lines = [(what, *(row["variant"] for row in rows)), ("cycles", *cycles)]
    for name, unit in (("bits", "Mbit of channels"), ("off_chip", "MB off chip")):
        if rows and rows[0][name]:
            lines.append((unit, *(f"{int(row[name]) / 1e6:.1f}" for row in rows)))
    head, *others = (f"| {' | '.join(each)} |" for each in lines)
    return "\n".join([head, "|---" * (1 + len(rows)) + "|", *others])


if __name__ == "__main__":
    write_atomically(PAGE, page(RESULTS).encode())
