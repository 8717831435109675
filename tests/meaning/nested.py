"""Words for nested lists."""

from step.language.draft import Nested, entries, inside

__all__ = ["Nested", "entries", "inside"]
