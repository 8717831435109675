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
