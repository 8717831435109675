"""When parts that are written, one a cycle, can be read as other parts, one a cycle."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Which of the parts that are written each part that is read needs: first and last."""

    needs: tuple[tuple[int, int], ...]

    @property
    def lag(self) -> int:
        """Cycles from the first write to the first read; a part can be read in the cycle after it was written."""
        return 1 + max(last - read for read, (_, last) in enumerate(self.needs))

    def copies(self, lag: int, interval: int) -> int:
        """Elements that lie in the store side by side, if one begins every ``interval`` cycles at most.

        A part may be overwritten in the cycle in which it is read for the last time.
        """
        longest = max(lag + read - first for read, (first, _) in enumerate(self.needs))
        return max(1, -(-longest // interval))
