"""Counters and registers of datapaths that take several cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import C, Module, Mux, Signal, Value

from hw.primitives.memories import Ram

DRIVEN = 64
"""Bits of a word that a register drives, where registers are copied."""


def kept(register: Signal) -> Signal:
    """``register``, which synthesis must not join with its copies."""
    register.attrs["keep"] = 1
    return register


def becomes(m: Module, register: Signal, *cases: tuple[Value, Any]) -> None:
    """Let ``register`` become the value of the first of the ``cases`` whose condition holds; else it stays."""
    for at, (when, value) in enumerate(cases):
        with m.Elif(when) if at else m.If(when):
            m.d.sync += register.eq(value)


def counts(m: Module, number: Signal, when: Value, last: Value) -> None:
    """Let ``number`` be one more behind every cycle with ``when``, and 0 behind the ``last`` one."""
    with m.If(when):
        m.d.sync += number.eq(Mux(last, 0, number + 1))


def countdown(m: Module, name: str, most: int, begins: Value, cycles: Any) -> tuple[Signal, Signal]:
    """A number: ``cycles`` (at most ``most``) behind a cycle with ``begins``, and one less in every other one; and
    whether it is above 0."""
    left, runs = Signal(range(most + 1), name=name), Signal(name=f"{name}_runs")
    m.d.comb += runs.eq(left != 0)
    becomes(m, left, (begins, cycles), (runs, left - 1))
    return left, runs


def counter(m: Module, extent: int, name: str, advance: Value, known: Value | None = None) -> tuple[Value, Value]:
    """A register that counts to ``extent`` again and again, and whether it is at its last value.

    With ``known``, a number that is there at the last value, it counts to that, which is at most ``extent``.
    """
    if extent == 1:
        return C(0, 1), C(1, 1)
    count, last = Signal(range(extent), name=name), Signal(name=f"last_{name}")
    m.d.comb += last.eq(count == (extent if known is None else known) - 1)
    counts(m, count, advance, last)
    return count, last


def delayed(m: Module, value: Any, cycles: int, name: str, *, reset_less: bool = False) -> Any:
    """``value`` as it was some cycles before."""
    for at in range(cycles):
        register = Signal(value.shape(), name=f"{name}_{at + 1}", reset_less=reset_less)
        m.d.sync += register.eq(value)
        value = register
    return value


def named(m: Module, value: Value, name: str) -> Signal:
    """``value`` as a signal: of an expression that is none, every part would be written with all of it."""
    signal = Signal(value.shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal


def registered(m: Module, value: Value, name: str) -> Signal:
    """``value`` as it was a cycle before, which is data: a reset does not clear it."""
    register = Signal(value.shape(), name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register


def held(m: Module, value: Value, when: Value, name: str) -> Signal:
    """``value``, which is data, as it was in the last cycle with ``when``."""
    register = Signal(value.shape(), name=name, reset_less=True)
    with m.If(when):
        m.d.sync += register.eq(value)
    return register


def loop_store(m: Module, depth: int, read_place: Value, write: Value, result: Value) -> Value:
    """The states of a loop whose ``depth`` parts take turns: that at ``read_place``, at once.

    ``result`` becomes the next one's, from part 0 on, where ``write`` is set; it can be read in the next cycle.
    """
    place, _ = counter(m, depth, "state_place", write)
    states = Ram(m, "states", len(result), depth)
    states.write(write, place, result)
    return states.read(read_place)


def window(m: Module, name: str, begins: Value, count: int, known: Value | None = None) -> tuple[Value, Value, Value]:
    """The ``count`` cycles behind ``begins``: whether this is one of them, its number, and whether it is the last.

    With ``known``, a number that is there with ``begins``, there are so many, at most ``count``.
    """
    active = Signal(name=f"{name}_active")
    if known is not None:
        number, left = Signal(range(count), name=f"{name}_number"), Signal(range(count + 1), name=f"{name}_left")
        with m.If(begins):
            m.d.sync += [active.eq(1), number.eq(0), left.eq(known)]
        with m.Elif(active):
            m.d.sync += [active.eq(left != 1), number.eq(number + 1), left.eq(left - 1)]
        return active, number, active & (left == 1)
    number, last = counter(m, count, f"{name}_number", active)
    becomes(m, active, (begins, 1), (last, 0))
    return active, number, active & last


def window_from_start(m: Module, start: Value, count: Value, most: int) -> tuple[Value, Value]:
    """The cycle with ``start`` and those behind it, ``count`` in all, at most ``most``: whether this is one of them,
    and whether it is the last."""
    left = Signal(range(most + 1), name="coming_left")
    now = Signal(range(most + 1), name="coming_now")
    m.d.comb += now.eq(Mux(start, count, left))
    m.d.sync += left.eq(Mux(now == 0, 0, now - 1))
    return now != 0, now == 1


def window_place(m: Module, name: str, begins: Value, most: int) -> Value:
    """Number of cycles since ``begins`` was set last; right up to ``most``."""
    number, following = (Signal(range(most + 1), name=f"{name}{each}") for each in ("", "_following"))
    m.d.comb += number.eq(Mux(begins, 0, following))
    m.d.sync += following.eq(number + 1)
    return number


def word_window(m: Module, start: Value, words: Sequence[int]) -> tuple[Value, list[Value]]:
    """The number of the word that comes in this cycle, 0 with ``start``, and for each of the ports, of which the
    values have so many ``words``, whether it has one."""
    most = max(words)
    if most == 1:
        return C(0, 1), [start for _ in words]
    number = Signal(range(most + 1), name="word_number")
    following = Signal(range(most + 1), init=most)
    m.d.comb += number.eq(Mux(start, 0, following))
    with m.If(number != most):
        m.d.sync += following.eq(number + 1)
    return number, [number < count for count in words]
