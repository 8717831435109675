"""Sections of ``step --help``: which verbs stand together, and what tells those apart that look alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

SECTIONS = {
    "Write and look": ("step check program.py", "check show metrics inputs"),
    "Run": ("step run program.py --backend approx", "run explain compare tokens waves"),
    "Explore": ("step sweep program.py --over memory.channels=1,2,4", "sweep tune fit fifos place"),
    "Hardware": ("step verilog program.py -o build", "verilog synth board"),
    "Models": ("step import model.pt2 -o program.json", "import map generate"),
    "Toolkit": ("step doctor", "doctor cache schema calibrate fuzz help"),
}
"""By title an example, and the verbs in the order in which they are wanted."""

OTHERS = "Of other packages"

ALIKE = ("sweep", "tune", "fit", "fifos", "map")
WHICH = """\b
Which one to take:
  sweep  you name the values: every point runs as it is
  tune   you name a budget: values are looked for, each with fitted hardware
  fit    the program stays: its lanes, links and memories get smaller
  fifos  program and hardware stay: how deep the FIFOs have to be
  map    the program is a module of PyTorch: its tiles, and the hardware
"""
"""The end of the help of the verbs that are `ALIKE`: all of them search."""


def topics() -> dict[str, str]:
    """The titles of sections by their first words, which `step help` takes; a verb of that name comes first."""
    return {title.split()[0].lower(): title for title in SECTIONS}


def sections(known: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Title, example and verbs of each section that has some of the ``known`` verbs; the last one has the others."""
    placed = {name for _, names in SECTIONS.values() for name in names.split()}
    for title, (example, names) in SECTIONS.items():
        yield title, example, [name for name in names.split() if name in known]
    if others := [name for name in known if name not in placed]:
        yield OTHERS, f"step {others[0]} --help", others
