"""The operators, one file each; every module of this package registers its own."""

from __future__ import annotations

from step.host.extensions import open_package
from step.language.operator import OPERATORS

open_package(globals(), OPERATORS)
