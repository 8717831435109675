"""What the paper derives from its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Row = Mapping[str, object]


def improvement(rows: Sequence[Row], model: str) -> float | None:
    """PID, the distance of dynamic tiles from the Pareto front of the static ones in Figs. 9 and 10.

    The least, over the static points, of the larger one of the ratios of cycles and of on-chip bytes. None where a
    point is missing.
    """

    def costs(row: Row) -> tuple[float, float]:
        return float(str(row["cycles"])), float(str(row["on_chip_bytes"]))

    found = {str(row["point"]): costs(row) for row in rows if str(row["point"]).startswith(f"{model} ")}
    dynamic = found.pop(f"{model} dynamic", None)
    if dynamic is None or not found:
        return None
    return min(max(cycles / dynamic[0], memory / dynamic[1]) for cycles, memory in found.values())


def number(value: object) -> float:
    """A cell of a result file."""
    return float(str(value))


def speedups(rows: Sequence[Row], baseline: str) -> dict[str, float]:
    """Cycles of the arrangement ``baseline`` over those of the dynamic one, by batch, where both were run."""
    cycles = {str(row["point"]): number(row["cycles"]) for row in rows}
    batches = [point.removesuffix(" dynamic") for point in cycles if point.endswith(" dynamic")]
    return {
        batch: cycles[f"{batch} {baseline}"] / cycles[f"{batch} dynamic"]
        for batch in batches
        if f"{batch} {baseline}" in cycles
    }


def losses(rows: Sequence[Row]) -> list[str]:
    """The batches in which another arrangement takes fewer cycles than the dynamic one, with which, and by how much."""
    return [
        f"{batch} to {baseline} ({speedup:.3f})"
        for baseline in ("coarse", "interleaved")
        for batch, speedup in speedups(rows, baseline).items()
        if speedup < 1
    ]


def table(rows: Sequence[Row]) -> str:
    """Ours / published / ratio of cycles, as Markdown."""
    lines = ["| point | ours | published | ratio |", "|---|---:|---:|---:|"]
    for row in rows:
        ours, known = number(row["cycles"]), row["published_cycles"]
        theirs = f"{number(known):,.0f} | {ours / number(known):.4f}" if known else "|"
        lines.append(f"| {row['point']} | {ours:,.0f} | {theirs} |")
    return "\n".join(lines)
