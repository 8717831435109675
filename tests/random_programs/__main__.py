"""Runs random programs again by their seeds, and shows them: ``python -m random_programs SEED ..``."""

from __future__ import annotations

import argparse
import sys

from meaning.evaluate import evaluate

from random_programs import build
from random_programs.check import Disagreement, check
from random_programs.together import check_rtl
from step.language.graph import Graph
from step.language.tokens import from_nested, show
from step.running.interpreter import interpret


def listing(seed: int) -> str:
    """The program of ``seed``, line by line, with what its streams carry."""
    graph = Graph("random")
    inputs = build(seed, graph).inputs
    if graph.feedbacks:  # a run says what they carry
        ran = interpret(graph, inputs, record=True)
        meant = evaluate(graph, inputs, ran.arrivals, ran.streams)
    else:
        meant = evaluate(graph, inputs)
    lines = []
    for node in graph:
        read = ", ".join(str(each) for each in node.inputs)
        lines.append(f"{node.name}: {node.operator} of ({read})")
        for port, each in enumerate(node.output_types):
            name = graph.stream_name(node.name, port)
            tokens = from_nested(meant.streams[name], each.rank)
            lines.append(f"    {name}: {each}: " + show(t._replace(value="x") if t.has_value else t for t in tokens))
    return "\n".join(lines)


def main() -> int:
    """Exit code 1 where anything disagrees."""
    parser = argparse.ArgumentParser(description="Random programs, again.")
    parser.add_argument("seeds", type=int, nargs="+")
    parser.add_argument("--rtl", action="store_true", help="in RTL as well, all in one build")
    options = parser.parse_args()
    write = sys.stdout.write
    try:
        for seed in options.seeds:
            write(f"seed {seed}\n{listing(seed)}\n")
            write(f"{check(seed)}\n\n")
        if options.rtl:
            write(f"{check_rtl(options.seeds)}\n")
    except Disagreement as error:
        write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
