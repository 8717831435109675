"""The command line: ``run`` and ``show``."""

from __future__ import annotations

import compileall
import json
import os
import shutil
import sys
from pathlib import Path

from benchmarks.mutation.mutants import ROOMS, Mutant, chosen
from benchmarks.mutation.running import SURVIVED, MutantOutcome, run
from step.host.files import write_atomically

ROOT = Path(__file__).parents[3]
DIRECTORY = Path(os.environ.get("MUTATION_DIRECTORY", "/tmp/step-mutation"))
TREE, RESULTS = DIRECTORY / "tree", DIRECTORY / "results"


def main() -> None:
    """The verbs of the package's docstring."""
    verb, *names = sys.argv[1:] or ["show"]
    if not TREE.exists():
        shutil.copytree(ROOT, TREE, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        compileall.compile_dir(TREE, quiet=1)  # else every run would compile all sources
    RESULTS.mkdir(exist_ok=True)
    mutants = chosen(TREE)
    if verb == "run":
        for number in map(int, names) if names else range(len(mutants)):
            if outcome(number, mutants[number]) is None:
                found = run(mutants[number], TREE)
                write_atomically(RESULTS / f"{number}.json", json.dumps(vars(found), indent=1).encode())
                print(f"{number}: {found}", flush=True)
    show([(each, outcome(number, each)) for number, each in enumerate(mutants)])


def outcome(number: int, mutant: Mutant) -> MutantOutcome | None:
    """The outcome of ``mutant``; None where it has not been run."""
    path = RESULTS / f"{number}.json"
    found = MutantOutcome(**json.loads(path.read_text())) if path.exists() else None
    return found if found is not None and found.mutant == str(mutant) else None


def show(outcomes: list[tuple[Mutant, MutantOutcome | None]]) -> None:
    """A line for each room, and one for each survivor."""
    for room in ROOMS:
        done = [found for mutant, found in outcomes if mutant.room == room and found is not None]
        killed = sum(each.status != SURVIVED for each in done)
        print(f"{room:14} {killed:3} of {len(done):3} killed, {ROOMS[room] - len(done):3} to come")
    for number, (_, found) in enumerate(outcomes):
        if found is not None and found.status == SURVIVED:
            print(f"{number}: {found}")


if __name__ == "__main__":
    main()
