"""Parts of programs that are made of several operators."""

from step.library.parallel import parallelize

__all__ = ["parallelize"]
