"""Steps of several operators; those of one are its sample."""

from step.fuzz.steps import loops, order, promised_shapes, routing

__all__ = ["loops", "order", "promised_shapes", "routing"]
