"""Functions for Map, Accum and FlatMap; every module of this package registers its own."""

from __future__ import annotations

from step.host.extensions import open_package
from step.language.function import FUNCTIONS

open_package(globals(), FUNCTIONS)
