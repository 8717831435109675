"""Claims of Figs. 9, 10, 19 and 20: tiles of dynamic size against static ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from experiments.published.moe import DYNAMIC, STATIC
from experiments.published.show.claim import Claim
from experiments.published.show.results import FigureRows, Missing

BATCH = {"9": 64, "10": 1024}
DISTANCES = (("9", "mixtral", 1.33), ("9", "qwen", 2.11), ("10", "mixtral", 1.86), ("10", "qwen", 1.87))
"""Published distance from the front, by figure and model."""

RATIOS = (
    *(("9", "mixtral", 16, 1.65, 1.0), ("9", "mixtral", 32, 1 / 1.0026, 1.33)),
    *(("9", "qwen", 8, 1.69, 2.1), ("9", "qwen", 64, 1 / 1.0076, 5.05)),
    *(("10", "mixtral", 128, 1.86, 1 / 1.79), ("10", "mixtral", 256, 1.87, 1.0)),
    *(("10", "qwen", 64, 1.87, 1.13), ("10", "qwen", 1024, 1.12, 12.5)),
)
"""Published cycles and on-chip memory of static tiles of some rows, over those of dynamic ones."""

TRAFFIC = (("9", "qwen", 8, 1.58), ("10", "mixtral", 256, 1.37), ("10", "qwen", 64, 2.21))
"""Published off-chip bytes of static tiles over those of dynamic ones."""

Cost = tuple[float, float]
"""Cycles and bytes."""


def distance(dynamic: Cost, static: Mapping[str, Cost]) -> float:
    """PID: the least, over static points, of the larger one of the ratios of cycles and of bytes."""
    if not static:
        raise Missing("static points")
    return min(max(cycles / dynamic[0], memory / dynamic[1]) for cycles, memory in static.values())


def costs(
    results: FigureRows, figure: str, model: str, memory: str = "on_chip_bytes", equal: bool = False
) -> tuple[Cost, dict[str, Cost]]:
    """Costs of dynamic tiles (``equal``: with as many operations a cycle as static ones), of static ones by rows."""
    names = [name for name in results.points(figure) if name.startswith(f"{model} ")]
    found = {name.split()[1]: (results.number(figure, name), results.number(figure, name, memory)) for name in names}
    dynamic = found.pop("dynamic", None)
    if equal:
        dynamic = results.number("equal_compute", f"{model} {BATCH[figure]}"), (dynamic or (0, 0))[1]
    if dynamic is None:
        raise Missing(f"{model} dynamic")
    return dynamic, found


def claims() -> Iterator[Claim]:
    """Distances from the front, ratios of cycles and bytes, and traffic."""
    for figure, model, published in DISTANCES:
        yield Claim(
            f"distance of dynamic tiles from the front of static ones, {model}, figure {figure}",
            f"{published:.2f}",
            partial(_distance, figure, model),
            partial(_distance, figure, model, memory="equation_on_chip_bytes", equal=True),
            partial(_why, figure, model),
        )
    for figure, model, rows, cycles, memory in RATIOS:
        yield Claim(
            f"cycles; memory of static tiles of {rows} rows over dynamic ones, {model}, figure {figure}",
            f"{cycles:.2f}; {memory:.2f}",
            partial(_ratios, figure, model, str(rows)),
            partial(_ratios, figure, model, str(rows), memory="equation_on_chip_bytes", equal=True),
            _as_above,
        )
    for figure, model, rows, traffic in TRAFFIC:
        yield Claim(
            f"off-chip bytes of static tiles of {rows} rows over dynamic ones, {model}, figure {int(figure) + 10}",
            f"{traffic:.2f}",
            partial(_traffic, figure, model, str(rows)),
            None,
            lambda results: "Symbolic, and what runs moved. Each tile of rows reads the weights again.",
        )


def _distance(figure: str, model: str, results: FigureRows, memory: str = "on_chip_bytes", equal: bool = False) -> str:
    return f"{distance(*costs(results, figure, model, memory, equal)):.2f}"


def _ratios(
    figure: str, model: str, rows: str, results: FigureRows, memory: str = "on_chip_bytes", equal: bool = False
) -> str:
    dynamic, static = costs(results, figure, model, memory, equal)
    if rows not in static:
        raise Missing(f"{model} {rows}")
    return "; ".join(f"{theirs / ours:.2f}" for theirs, ours in zip(static[rows], dynamic, strict=True))


def _traffic(figure: str, model: str, rows: str, results: FigureRows) -> str:
    static, dynamic = (results.number(figure, f"{model} {name}", "off_chip_bytes") for name in (rows, "dynamic"))
    return f"{static / dynamic:.2f}"


def _why(figure: str, model: str, results: FigureRows) -> str:
    change: Callable[..., str] = partial(_distance, figure, model, results)
    return (
        f"Published: dynamic tiles have {DYNAMIC.flops} operations a cycle, static ones {STATIC.flops}, and experts "
        f"without tokens count for static tiles only. With {STATIC.flops} for both: {change(equal=True)}. With one "
        f"count of experts as well: "
        f"{change(equal=True, memory='used_on_chip_bytes')}. Fair: and memory by the paper's own equations."
    )


def _as_above(results: FigureRows) -> str:
    return (
        f"Fair: {STATIC.flops} operations a cycle for both, the experts with tokens, memory by the paper's equations."
    )
