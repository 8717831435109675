"""Random programs (`step_check.fuzz`) against a meaning of their own.

The oracle (`meaning`) says what every stream carries, independently of the operators that the generator and all back
ends share. ``PYTHONPATH=tests python -m random_programs SEED`` runs one again and shows it.
"""

from functools import partial

from step_check.fuzz import program

OPERATORS = (3, 25)
"""Operators of the programs of these tests."""

build = partial(program.build, operators=OPERATORS)
