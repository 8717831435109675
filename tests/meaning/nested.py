"""Words for nested lists."""

from step_check.samples.nested import Nested, entries, inside

__all__ = ["Nested", "entries", "inside"]
