"""Words for nested lists."""

from step.samples.nested import Nested, entries, inside

__all__ = ["Nested", "entries", "inside"]
