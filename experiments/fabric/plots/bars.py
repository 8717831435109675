"""Figs. 14, 15, 17 and 21: groups of bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.fabric.plots.fronts import TITLES
from experiments.fabric.variance import VARIANCES, means, picked

Rows = Sequence[Mapping[str, str]]


def batches(figure: Any, rows: Rows) -> None:
    """Fig. 15: cycles of the first requests of a batch, a bar per arrangement."""
    bars(figure.add_subplot(ylabel="cycles"), by_group(rows))


def gains(figure: Any, rows: Rows) -> None:
    """Fig. 14: how much faster dynamic regions are than turns, a panel per variance of the lengths."""
    cycles = by_group(rows)
    panels = figure.subplots(1, len(VARIANCES), sharey=True)
    for axes, variance in zip(panels, VARIANCES, strict=True):
        batches = [batch for batch in picked(cycles, variance) if {"interleaved", "dynamic"} <= cycles[batch].keys()]
        found = {_short(batch): {"": cycles[batch]["interleaved"] / cycles[batch]["dynamic"]} for batch in batches}
        axes.set_title(f"{variance} variance")
        bars(axes, found, labels="{:.2f}")
        axes.axhline(1, color="black", linewidth=0.8)
    panels[0].set_ylabel("turns / dynamic, cycles")


def means_of_batches(figure: Any, rows: Rows) -> None:
    """Fig. 21: cycles over those of dynamic regions, geometric means of three batches each."""
    axes = figure.add_subplot(ylabel="cycles / those of dynamic regions")
    bars(axes, {name.replace(", ", "\n"): found for name, found in means(by_group(rows)).items()}, labels="{:.2f}")
    axes.axhline(1, color="black", linewidth=0.8)


def layers(figure: Any, rows: Rows) -> None:
    """Fig. 17: how much faster a layer is than with static tiles that need the memory of dynamic ones."""
    cycles = by_group(rows)
    found = {}
    for model, own in cycles.items():
        base = next(iter(own.values()))
        names = (f"static, {each} rows" if each != "dynamic" else each for each in own)
        found[TITLES[model]] = {name: base / count for name, count in zip(names, own.values(), strict=True)}
    for axes, (model, each) in zip(figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        axes.set(title=model, ylabel="speedup")
        bars(axes, {name: {"": value} for name, value in each.items()}, labels="{:.2f}")


def by_group(rows: Rows) -> dict[str, dict[str, float]]:
    """Cycles by what is in front of the last word of the name of a point, and by that word."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        group, _, kind = row["point"].rpartition(" ")
        found.setdefault(group, {})[kind] = int(row["cycles"])
    return found


def bars(axes: Any, groups: Mapping[str, Mapping[str, float]], labels: str | None = None) -> None:
    """A group of bars each, with their heights above them where ``labels`` says in which form."""
    kinds = list(dict.fromkeys(kind for each in groups.values() for kind in each))
    width = 0.8 / max(len(kinds), 1)
    for number, kind in enumerate(kinds):
        places = [each + (number - (len(kinds) - 1) / 2) * width for each in range(len(groups))]
        drawn = axes.bar(places, [each.get(kind, 0) for each in groups.values()], width, label=kind)
        if labels:
            axes.bar_label(drawn, fmt=labels, fontsize=8, padding=2)
    axes.set_xticks(range(len(groups)), groups)
    axes.margins(y=0.12)
    if len(kinds) > 1:
        axes.legend()


def _short(batch: str) -> str:
    """The standard deviation in the name of a batch."""
    return batch.removeprefix("conv_stdev").split("_")[0].lstrip("0")
