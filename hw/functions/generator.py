"""What makes the pieces of functions that count them."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.lib.wiring import In, Out

from hw.shared import Parametric

INDEX_BITS = 32


class Generator(Parametric):
    """Piece ``index`` of what the ``operand``\\ s make: a `step.language.function.CountedFunction` made hardware.

    At once there are ``none``: that is no piece at all, and ``last``: piece ``index`` is the last one. ``result``
    follows `latency` cycles later; with another index or other operands in every cycle. One with a ``fault`` has
    ``invalid`` as well, at once: the operands make no sense.
    """

    clocked = False
    latency = 0

    def __init__(self, operands: Sequence[int], result: int, *, fault: bool = False) -> None:
        """``operands`` and ``result`` are widths in bits."""
        members = {f"operand{port}": In(width) for port, width in enumerate(operands)} | {"index": In(INDEX_BITS)}
        members |= {"none": Out(1), "last": Out(1), "result": Out(result)} | ({"invalid": Out(1)} if fault else {})
        super().__init__(members)
