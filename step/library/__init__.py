"""Parts of programs that are made of several operators."""

from step.library.arg_max import arg_max
from step.library.parallel import parallelize

__all__ = ["arg_max", "parallelize"]
