"""Round robin: whose turn it is."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike


def turns(m: Module, valids: Value, moves: Value, held: ValueLike = 0) -> Signal:
    """The number of the port that is served, a register.

    With ``moves`` a turn ends in this cycle. Then, or while the port offers nothing, the next cycle is that of the
    first other one behind it, in a ring, that offers something in this cycle; of this one again where there is none.
    While the port is ``held`` its turn goes on, also where it offers nothing for a while.
    """
    count = len(valids)
    port = Signal(range(count), name="port")
    if count == 1:
        return port
    chosen, later, others, first = (Signal(count, name=name) for name in ("chosen", "later", "others", "first"))
    m.d.comb += [
        chosen.eq(1 << port),
        others.eq(valids & ~chosen),
        later.eq(others & ~((chosen << 1) - 1)),
        first.eq(Mux(later.any(), later & -later, others & -others)),
    ]
    with m.If((moves | ~(held | (valids & chosen).any())) & others.any()):
        m.d.sync += port.eq(_number(first))
    return port


def _number(one: Value) -> Value:
    """The number of the only bit of ``one`` that is up."""
    bits = (len(one) - 1).bit_length()
    return Cat(Cat(one[at] for at in range(len(one)) if at >> bit & 1).any() for bit in range(bits))
