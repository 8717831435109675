"""``fabric_NAME.h`` and ``fabric_NAME.c``: the tables of a board for the C driver."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from cosim.board.constraints import TEXTS
from cosim.board.tables import PlacedImage, Tables, part_of
from step.host.texts import filled


def tables_header(tables: Tables) -> str:
    """The header: numbers of images, tensors and streams, and the declaration of the tables."""
    images = tables.design.board.images
    return filled(TEXTS / "fabric.h.in", tables=tables, images=images, identifier=partial(re.sub, r"\W", "_"))


def tables_source(tables: Tables, places: Sequence[PlacedImage]) -> str:
    """The tables; ``places`` are those of the memory image."""
    return filled(TEXTS / "fabric.c.in", tables=tables, board=tables.design.board, places=places, part_of=part_of)
