"""All steps; the more weight one has, the more often it is taken."""

from step.fuzz.steps import elements, loops, off_chip, on_chip, routing, shape, structured

__all__ = ["elements", "loops", "off_chip", "on_chip", "routing", "shape", "structured"]
