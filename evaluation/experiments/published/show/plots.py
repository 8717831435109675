"""The figures as pictures, in the paper's arrangement; matplotlib comes with ``pip install 'step-fabric[sweeps]'``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.published.show import decoding, multiplexing, parallelization, tiling, validation
from experiments.published.show.results import FigureRows, Missing, Row
from step.host.figures import drawn
from step.host.files import write_atomically

MEGA = 1e6
PUBLISHED = {"color": "black", "marker": "x", "linestyle": "", "label": "published"}
TIMINGS = {"published": "published timing", "fabric": "our fabric"}
MODELS = ("mixtral", "qwen")


def _some(results: FigureRows, figure: str) -> Mapping[str, Row]:
    """The rows of a figure; raises `Missing` where there are none."""
    rows = results.points(figure)
    if not rows:
        raise Missing(f"figure {figure}")
    return rows


def bars(axes: Any, groups: Sequence[str], heights: Mapping[str, Sequence[float]]) -> None:
    """A bar for every name in ``heights`` in each of ``groups``."""
    width = 0.8 / len(heights)
    for number, (name, values) in enumerate(heights.items()):
        places = [each + (number - (len(heights) - 1) / 2) * width for each in range(len(groups))]
        axes.bar(places, values, width, label=name)
    axes.set_xticks(range(len(groups)), groups)
    axes.margins(y=0.25)  # for the legend
    if len(heights) > 1:
        axes.legend()


def against_hdl(figure: Any, results: FigureRows) -> None:
    """Fig. 8: cycles and traffic for tiles of rows x columns, and those of HDL where they are known."""
    points = list(_some(results, "8"))
    scale = HALF if results.prefix == "fabric" else 1
    moved = [results.number("8", each, "off_chip_bytes") * scale / MEGA for each in points]
    panels: tuple[tuple[str, list[float], Mapping[str, float]], ...] = (
        ("cycles", [results.number("8", each) for each in points], validation.hdl()),
        (f"off-chip traffic [MB]{', at 4 bytes a scalar' if scale > 1 else ''}", moved, validation.hdl_megabytes()),
    )
    for place, (label, heights, known) in enumerate(panels, start=1):
        axes = figure.add_subplot(1, 2, place, ylabel=label)
        bars(axes, points, {TIMINGS[results.prefix]: heights})
        shown = [each for each in points if each in known]
        axes.plot([points.index(each) for each in shown], [known[each] for each in shown], "kx", label="HDL")
        axes.tick_params(axis="x", rotation=60)
        axes.legend()


HALF = 2
"""Our fabric has scalars of half as many bytes as the validation."""


def fronts(run: str, column: str, label: str, gains: bool = False) -> Callable[[Any, FigureRows], None]:
    """Figs. 9, 10, 19, 20: ``column`` against on-chip memory, a panel per model; static tiles are joined.

    ``gains``: with what dynamic tiles gain over the static ones that the paper compares them with.
    """

    def draw(figure: Any, results: FigureRows) -> None:
        for place, model in enumerate(MODELS, start=1):
            axes = figure.add_subplot(1, 2, place, title=model, xlabel="on-chip memory [MB]", ylabel=label)
            names = [each for each in _some(results, run) if each.startswith(f"{model} ")]
            places = {
                each.split()[1]: (results.number(run, each, "on_chip_bytes") / MEGA, results.number(run, each, column))
                for each in names
            }
            dynamic = places.pop("dynamic", None)
            if places:
                axes.plot(*zip(*places.values(), strict=True), "o--", label="static")
            if dynamic is not None:
                axes.plot(*dynamic, "*", markersize=12, label="dynamic")
            above = True
            for rows, at in places.items():
                gained = ""
                if dynamic is not None and gains and (run, model, int(rows)) in COMPARED:
                    gained = f": {at[1] / dynamic[1]:.2f}x,\n{at[0] / dynamic[0]:.2f}x memory"
                offset = (3, 5) if above else (3, -20)
                axes.annotate(f"{rows}{gained}", at, xytext=offset, textcoords="offset points", fontsize=8)
                above = not (above and gained)
            known = [each for each in names if results.row(run, each).get(f"published_{column}")]
            shown = [
                (results.number(run, each, "on_chip_bytes") / MEGA, results.number(run, each, f"published_{column}"))
                for each in known
            ]
            if shown:
                axes.plot(*zip(*shown, strict=True), **PUBLISHED)
            axes.margins(0.3, 0.2)
            _logarithmic(axes, ("x", "y"))
            axes.legend(fontsize=8)

    return draw


COMPARED = {(figure, model, rows) for figure, model, rows, *_ in tiling.RATIOS}
"""Figures, models and rows of the static tiles of the paper's gains."""


def _logarithmic(axes: Any, which: Sequence[str]) -> None:
    """Axes with a tick at one, two, three and five of a decade."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

    for name in which:
        getattr(axes, f"set_{name}scale")("log")
        axis = getattr(axes, f"{name}axis")
        axis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axis.set_major_formatter(EngFormatter(sep=""))
        axis.set_minor_locator(NullLocator())


def regions(figure: Any, results: FigureRows) -> None:
    """Fig. 12: cycles, and operations over those that could have been: with SiLU once a scalar, and as published."""
    cycles, used = (
        figure.add_subplot(1, 2, place, xlabel="regions", ylabel=label)
        for place, label in enumerate(("cycles", "utilization of compute [%]"), start=1)
    )
    for tiles in ("static", "dynamic"):
        counts = _regions(results, tiles)
        (line,) = cycles.plot(counts, [_cycles(results, tiles, each) for each in counts], "o-", label=tiles)
        for done, style, label in (
            (multiplexing.operations, "o-", tiles),
            (multiplexing.published_operations, ".:", f"{tiles}, SiLU as the paper counts it"),
        ):
            heights = [100 * multiplexing.utilization(results, tiles, each, done(tiles)) for each in counts]
            used.plot(counts, heights, style, label=label, color=line.get_color())
        known = {each: 100 * multiplexing.PUBLISHED[tiles].used[each] for each in counts if each in USED}
        used.plot(known.keys(), known.values(), **dict(PUBLISHED, label="published" if tiles == "static" else None))
    known_rows = [row for row in results.points("12").values() if row.get("published_cycles")]
    if known_rows:
        places = [int(row["point"].split()[1]) for row in known_rows]
        cycles.plot(places, [float(row["published_cycles"]) for row in known_rows], **PUBLISHED)
    for axes in (cycles, used):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_ylim(0, 1.4 * axes.get_ylim()[1])
        axes.legend(fontsize=8)


USED = (multiplexing.EXPERTS, multiplexing.FEW)
"""Regions of which the utilization was published."""


def memory_of_regions(figure: Any, results: FigureRows) -> None:
    """Fig. 13: on-chip memory for each number of regions."""
    axes = figure.add_subplot(xlabel="regions", ylabel="on-chip memory [MB]")
    for tiles in ("static", "dynamic"):
        counts = _regions(results, tiles)
        sizes = [results.number("12", f"{tiles} {each}", "on_chip_bytes") / MEGA for each in counts]
        axes.plot(counts, sizes, "o-", label=tiles)
    known = [row for row in results.points("12").values() if row.get("published_on_chip_bytes")]
    if known:
        places = [int(row["point"].split()[1]) for row in known]
        axes.plot(places, [float(row["published_on_chip_bytes"]) / MEGA for row in known], **PUBLISHED)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(bottom=0)
    axes.legend()


def _regions(results: FigureRows, tiles: str) -> list[int]:
    return sorted(int(each.split()[1]) for each in _some(results, "12") if each.startswith(f"{tiles} "))


def _cycles(results: FigureRows, tiles: str, count: int) -> float:
    return results.number("12", f"{tiles} {count}")


def batches(figure: Any, results: FigureRows) -> None:
    """Fig. 14: cycles of interleaved over those of dynamic regions, for the batches of each variance."""
    _some(results, "14")
    for place, name in enumerate(parallelization.SPREAD, start=1):
        axes = figure.add_subplot(1, 3, place, title=f"{name} variance", ylim=(0, 1.7))
        axes.set_ylabel("interleaved / dynamic")
        found = parallelization.speedups(results, ("14",), "interleaved")
        chosen = {trace: each for trace, each in found.items() if parallelization.group(trace, 64) == name}
        labels = [trace.removeprefix("conv_stdev").replace("_", "\n", 1) for trace in chosen]
        bars(axes, labels, {"cycles, interleaved": list(chosen.values())})
        axes.axhline(1, color="black", linewidth=0.5)


def prefixes(figure: Any, results: FigureRows) -> None:
    """Fig. 15: cycles of batches of 16 to 64 requests."""
    counts = dict.fromkeys(each.split()[0] for each in _some(results, "15"))
    kinds = ("coarse", "interleaved", "dynamic")
    axes = figure.add_subplot(ylabel="cycles")
    bars(axes, list(counts), {kind: [results.number("15", f"{each} {kind}") for each in counts] for kind in kinds})


def variances(figure: Any, results: FigureRows) -> None:
    """Fig. 21: cycles over those of dynamic regions, geometric means of three batches, and the published bars."""
    for place, batch in enumerate(parallelization.FIGURES, start=1):
        axes = figure.add_subplot(1, 3, place, title=f"{batch} requests", ylim=(0, 4.8))
        names = list(parallelization.BARS[batch, "coarse"])
        heights = {each: parallelization.means(results, batch, each, names) for each in parallelization.BASELINES}
        bars(axes, names, {**heights, "dynamic": [1.0] * len(names)})
        for number, baseline in enumerate(parallelization.BASELINES):
            places = [each + (number - 1) * 0.8 / 3 for each in range(len(names))]
            shown = dict(PUBLISHED, label="published" if number == 0 else None)
            axes.plot(places, list(parallelization.BARS[batch, baseline].values()), **shown)
        axes.legend()


def decoders(figure: Any, results: FigureRows) -> None:
    """Fig. 17: speedups over the memory-matched layer, and on-chip memory. Not every model has every schedule."""
    schedules = decoding.SCHEDULES
    there = _some(results, "17")
    for model in MODELS:
        results.number("17", f"{model} {decoding.BASE}")
    panels = (
        ("speedup over memory-matched", lambda model, each: _speedup(results, model, each)),
        ("on-chip memory [MB]", lambda model, each: results.number("17", f"{model} {each}", "on_chip_bytes") / MEGA),
    )
    for place, (label, value) in enumerate(panels, start=1):
        axes = figure.add_subplot(1, 2, place, ylabel=label)
        heights = {
            each: [value(model, each) if f"{model} {each}" in there else 0 for model in MODELS] for each in schedules
        }
        bars(axes, MODELS, heights)
        for (model, schedule), bar in decoding.bars().items():
            at = MODELS.index(model) + (schedules.index(schedule) - (len(schedules) - 1) / 2) * 0.8 / len(schedules)
            height = bar["speedup"] if place == 1 else bar["mebibytes"] * 2**20 / MEGA
            first = model == MODELS[0] and schedule == decoding.BASE
            axes.plot([at], [height], **dict(PUBLISHED, label="published" if first else None))
        axes.set_ylim(0, 1.3 * axes.get_ylim()[1])
        axes.legend(fontsize=8)


def _speedup(results: FigureRows, model: str, schedule: str) -> float:
    return results.number("17", f"{model} {decoding.BASE}") / results.number("17", f"{model} {schedule}")


DRAWN: dict[str, Callable[[Any, FigureRows], None]] = {
    "8": against_hdl,
    "9": fronts("9", "cycles", "cycles", gains=True),
    "10": fronts("10", "cycles", "cycles", gains=True),
    "12": regions,
    "13": memory_of_regions,
    "14": batches,
    "15": prefixes,
    "17": decoders,
    "19": fronts("9", "off_chip_bytes", "off-chip bytes"),
    "20": fronts("10", "off_chip_bytes", "off-chip bytes"),
    "21": variances,
}


def draw(results: FigureRows, figures: Iterable[str], folder: Path) -> list[str]:
    """Write ``PREFIX_figN.svg`` for ``figures`` into ``folder``; those that miss a point are returned instead."""
    left = []
    folder.mkdir(parents=True, exist_ok=True)
    for name in figures:
        if name not in DRAWN:
            continue
        try:
            drawing = plot(name, results)
        except Missing as error:
            left.append(f"figure {name} is not drawn: there is no {error}")
            continue
        write_atomically(folder / f"{results.prefix}_fig{name}.svg", drawing)
    return left


def plot(name: str, results: FigureRows) -> bytes:
    """Figure ``name`` as SVG; raises `Missing` where a point is missing that it needs, and what `drawn` raises."""
    return drawn(lambda figure: DRAWN[name](figure, results), (10, 4))
