"""Functions for Map, Accum and FlatMap; every module of this package registers its own.

A function raises `TypeMismatch`, with the line of the operator, for operands and parameters that it does not take.
Where an operand is out of range in a run, the run ends in a fault (`StreamFault`). Examples begin like this:

>>> import numpy as np
>>> import step
>>> from step import *
>>> from step.functions import *
"""

from __future__ import annotations

from step.host.extensions import open_package
from step.language.function import FUNCTIONS

open_package(globals(), FUNCTIONS)
