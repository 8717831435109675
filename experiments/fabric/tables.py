"""Results as Markdown, beside the published ones and those of the published timing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Rows = Sequence[Mapping[str, str]]

HEAD = (
    "| point | cycles | published | ratio | off-chip bytes | units | firings | tokens | seconds |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
)


def table(figure: str, rows: Rows, published: Rows) -> str:
    """A line per point. Published cycles are those of the paper, or, in brackets, of our run of its timing; ``seconds``
    of CPU to make the program ready and to run it."""
    known = {row["point"]: row for row in published}
    return "\n".join([f"## Figure {figure}", "", *HEAD, *(_line(row, known.get(row["point"], {})) for row in rows), ""])


def _line(row: Mapping[str, str], known: Mapping[str, str]) -> str:
    cycles = float(row["cycles"])
    paper, reproduced = known.get("published_cycles"), known.get("cycles")
    theirs = float(paper or reproduced or 0)
    shown = "" if not theirs else f"{theirs:,.0f}" if paper else f"({theirs:,.0f})"
    ratio = f"{cycles / theirs:.3f}" if theirs else ""
    seconds = float(row["prepare_seconds"]) + float(row["run_seconds"])
    counts = (_number(row[name]) for name in ("off_chip_bytes", "units", "firings", "tokens"))
    return f"| {row['point']} | {cycles:,.0f} | {shown} | {ratio} | {' | '.join(counts)} | {seconds:.1f} |"


def _number(text: str) -> str:
    return f"{int(text):,}" if text else ""
