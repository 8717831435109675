"""How long commands take to start: the best of several runs, and what of it is the interpreter and imports.

    python benchmarks/startup.py [RUNS]

``empty`` is Python alone, ``libraries`` it with the libraries that every program needs: no command that loads one is
faster than that. Ratios are to ``empty``, so they can be compared between machines.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMANDS = {
    "empty": ["-c", "pass"],
    "import step": ["-c", "import step"],
    "step --help": ["-m", "step", "--help"],
    "libraries": ["-c", "import numpy, ml_dtypes, sympy"],
    "step check": ["-m", "step", "check", "examples/moe_simple.py"],
    "step show": ["-m", "step", "show", "examples/moe_simple.py"],
    "step run approx": ["-m", "step", "run", "examples/moe_simple.py", "--backend", "approx"],
}


def seconds(arguments: list[str]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print one line per command; the runs of all take turns, so that load on the machine hits all alike."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            found[name].append(seconds(arguments))
    print(f"{'command':16} {'seconds':>8} {'ratio':>6}")
    for name, each in found.items():
        print(f"{name:16} {min(each):8.3f} {min(each) / min(found['empty']):6.1f}")


if __name__ == "__main__":
    main()
