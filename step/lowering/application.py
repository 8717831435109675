"""A function at its place in the fabric: what its plan and its hardware are made from."""

from __future__ import annotations

from dataclasses import dataclass

from step.language.graph import Node
from step.language.types import ElementType, Tile
from step.lowering.fabric import FabricConfig


@dataclass(frozen=True)
class Application:
    """Elements of the types ``inputs`` become a ``result`` on ``fabric``.

    ``reduce``: as the state of a reduction, which the elements update.
    """

    inputs: tuple[ElementType, ...]
    result: ElementType
    fabric: FabricConfig
    reduce: bool = False

    @classmethod
    def at(cls, node: Node, fabric: FabricConfig, *, reduce: bool) -> Application:
        """The function of ``node``, which is applied to what it reads and makes what it writes."""
        return cls(tuple(each.element for each in node.inputs), node.output_types[0].element, fabric, reduce)

    def with_rows(self, rows: int) -> Application:
        """The same of tiles with so many rows, where these are dynamic."""
        inputs, result = (
            tuple(each.with_rows(rows) if isinstance(each, Tile) else each for each in elements)
            for elements in (self.inputs, (self.result,))
        )
        return Application(inputs, result[0], self.fabric, self.reduce)
