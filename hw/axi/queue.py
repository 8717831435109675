"""A queue inside of a master."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

from hw.links.channel import count, place
from hw.primitives.memories import Ram


class Queue:
    """``depth`` words of ``width`` bits; one that is pushed can be popped from the next cycle on.

    ``push`` and ``pop`` are only raised with ``space`` and ``valid``. ``front`` is the oldest word.
    """

    def __init__(self, m: Module, name: str, width: int, depth: int) -> None:
        self.push, self.pop = Signal(name=f"{name}_push"), Signal(name=f"{name}_pop")
        self.word = Signal(width, name=f"{name}_word")
        self.valid, self.space = Signal(name=f"{name}_valid"), Signal(name=f"{name}_space")
        held = count(m, f"{name}_held", depth, up=self.push, down=self.pop)
        words = Ram(m, f"{name}_words", width, depth)
        words.write(self.push, place(m, f"{name}_write_place", depth, self.push), self.word)
        self.front: Value = words.read(place(m, f"{name}_read_place", depth, self.pop))
        m.d.comb += [self.valid.eq(held != 0), self.space.eq(held != depth)]
