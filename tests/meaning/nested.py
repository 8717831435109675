"""Words for nested lists."""

from step.fuzz.nested import Nested, entries, inside

__all__ = ["Nested", "entries", "inside"]
