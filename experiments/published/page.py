"""The page about the published figures, made of their result files: ``python -m experiments.published.page PATH``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.published.points import FIGURES, SHOWN
from experiments.published.show import decoding, multiplexing, parallelization, seconds, tiling, validation
from experiments.published.show.results import Results
from experiments.published.show.tables import known_points
from experiments.rows import RESULTS

CLAIMS = (validation, tiling, multiplexing, parallelization, decoding)
INTRODUCTION = Path(__file__).with_name("introduction.md")


def page(folder: Path) -> str:
    """How long figures take, and the points that have a published number."""
    ours = Results(folder, "published")
    parts = [
        INTRODUCTION.read_text().strip(),
        "## Seconds",
        seconds.table(ours),
    ]
    for figure in FIGURES:
        rows = list(ours.points(figure).values())
        if rows:
            sources = ", ".join(f"`{each}`" for each in sorted({row["sources"] for row in rows}))
            parts.append(f"## {_title(figure)}\n\nSources {sources}.\n\n{known_points(rows)}")
    return "\n\n".join(parts) + "\n"


def _title(figure: str) -> str:
    if not figure.isdigit():
        return f"Fair: {figure.replace('_', ' ')}"
    also = [name for name, other in SHOWN.items() if other == figure]
    return " and ".join([f"Figure{'s' if also else ''} {figure}", *also])


def main(arguments: Sequence[str]) -> None:
    """Write the page to the file named by the only argument."""
    from step.host.files import write_atomically

    (path,) = arguments
    write_atomically(Path(path), page(RESULTS).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
