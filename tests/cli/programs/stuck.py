"""The fragile program with data on which it deadlocks."""

import sys

sys.path.insert(0, "tests/integration")
import fragile

from step import Program


def program():
    made = fragile.program()
    return Program(made.graph, fragile.LONG_ROW, made.fabric)
