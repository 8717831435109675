"""Times of commands, most of which is their start: wall time, best and median of several runs.

    python benchmarks/startup.py [RUNS] [TREE ...]

``empty`` is Python alone, ``libraries`` it with the libraries that every program needs: no command that loads one is
faster than that. The median of the processor time is what is left of load by others; its ratios are to ``empty``, so
they can be compared between machines. Caches are warm: of the compiled engine, and of Python's bytecode. Other trees of
the project, of an older version say, take turns with this one.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "empty": ["-c", "pass"],
    "import step": ["-c", "import step"],
    "step --help": ["-m", "step", "--help"],
    "libraries": ["-c", "import numpy, ml_dtypes, sympy"],
    "step check": ["-m", "step", "check", "examples/moe_simple.py"],
    "step show": ["-m", "step", "show", "examples/moe_simple.py"],
    "step run approx": ["-m", "step", "run", "examples/moe_simple.py", "--backend", "approx"],
    "... moe_mixtral": ["-m", "step", "run", "examples/moe_mixtral.py", "--backend", "approx"],
}
WITH_BYTECODE = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(tree: Path, arguments: list[str]) -> tuple[float, float]:
    """Wall time of one run in ``tree``, and the processor time that it took."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=tree, env=WITH_BYTECODE, capture_output=True, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one line per command and tree; the runs of all take turns, so that load on the machine hits all alike."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    trees = [ROOT, *map(Path, sys.argv[2:])]
    found: dict[tuple[str, Path], list[tuple[float, float]]] = {(name, tree): [] for name in COMMANDS for tree in trees}
    for turn in range(runs + 1):  # the first one fills the caches
        for (name, tree), each in found.items():
            taken = seconds(tree, COMMANDS[name])
            if turn:
                each.append(taken)
    print(f"{'command':16} {'best':>7} {'median':>7} {'processor':>9} {'ratio':>6}  tree")
    for (name, tree), each in found.items():
        walls, processor = zip(*each, strict=True)
        worked = statistics.median(processor)
        ratio = worked / statistics.median(taken for _, taken in found["empty", tree])
        print(f"{name:16} {min(walls):7.3f} {statistics.median(walls):7.3f} {worked:9.3f} {ratio:6.1f}  {tree}")


if __name__ == "__main__":
    main()
