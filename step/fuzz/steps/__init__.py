"""Steps of several operators; those of one are its sample."""

from step.fuzz.steps import loops, order, promises, routing

__all__ = ["loops", "order", "promises", "routing"]
