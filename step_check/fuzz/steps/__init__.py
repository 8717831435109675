"""Steps of several operators; those of one are its sample."""

from step_check.fuzz.steps import dynamic_rows, empties, loops, order, promised_shapes, routing

__all__ = ["dynamic_rows", "empties", "loops", "order", "promised_shapes", "routing"]
