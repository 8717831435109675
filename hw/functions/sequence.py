"""Counters and registers of datapaths that take several cycles."""

from __future__ import annotations

from amaranth.hdl import C, Module, Mux, Signal, Value

from hw.memory.kinds import Shallow


def counter(m: Module, extent: int, name: str, advance: Value) -> tuple[Value, Value]:
    """A register that counts to ``extent`` again and again, and whether it is at its last value."""
    if extent == 1:
        return C(0, 1), C(1, 1)
    count, last = Signal(range(extent), name=name), Signal(name=f"last_{name}")
    m.d.comb += last.eq(count == extent - 1)
    with m.If(advance):
        m.d.sync += count.eq(Mux(last, 0, count + 1))
    return count, last


def later(m: Module, value: Value, cycles: int, name: str) -> Value:
    """``value`` as it was some cycles before."""
    for at in range(cycles):
        register = Signal(value.shape(), name=f"{name}_{at + 1}")
        m.d.sync += register.eq(value)
        value = register
    return value


def named(m: Module, value: Value, name: str) -> Signal:
    """``value`` as a signal: of an expression that is none, every part would be written with all of it."""
    signal = Signal(value.shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal


def data_later(m: Module, value: Value, name: str) -> Signal:
    """``value`` as it was a cycle before, which is data: a reset does not clear it."""
    register = Signal(value.shape(), name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register


def loop_store(m: Module, depth: int, read_place: Value, write: Value, result: Value) -> Value:
    """The states of a loop whose ``depth`` parts take turns: that at ``read_place``, at once.

    ``result`` becomes the next one's, from part 0 on, where ``write`` is set; it can be read in the next cycle.
    """
    place, _ = counter(m, depth, "state_place", write)
    states = Shallow(m, "states", len(result), depth)
    states.write(write, place, result)
    return states.read(read_place)
