"""A memory that is written in one order and read in another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.primitives.memories import Ram
from hw.primitives.timing import registered
from hw.verilog.modules import Parametric
from step.lowering.plans.parts import Parts


class Move(NamedTuple):
    """The way of an item: in which step and at which port it comes, and in which and where it is wanted."""

    write_step: int
    write_port: int
    read_step: int
    read_port: int

    def back(self) -> Move:
        """The way from there to here."""
        return Move(self.read_step, self.read_port, self.write_step, self.write_port)


def moves_of(ways: Iterable[tuple[int, int]], enter: int, leave: int) -> tuple[Move, ...]:
    """The ways of items from a place to another one, where ``enter`` of them come in a step, and ``leave`` leave."""
    return tuple(Move(*divmod(source, enter), *divmod(to, leave)) for source, to in ways)


def sizes_of(moves: Iterable[Move], item_bits: int) -> tuple[Parts, Parts]:
    """Sizes of writes and of reads in the steps of ``moves``."""
    writes, write_ports, reads, read_ports = (max(each) + 1 for each in zip(*moves, strict=True))
    return Parts(writes, write_ports * item_bits), Parts(reads, read_ports * item_bits)


class Turn(Parametric):
    """Ports of what is ``written`` step by step, and ``read`` in other ones; of several ``parts`` with their number.

    With ``write`` the items of ``write_step`` are on ``values``, and ``result`` has those of ``read_step``; ``more``
    are other ports, or None for one that it does not have.
    """

    def __init__(self, written: Parts, read: Parts, parts: int = 1, **more: Any) -> None:
        numbers = {"write_part": In(range(parts)), "read_part": In(range(parts))} if parts > 1 else {}
        steps = {
            f"{name}_step": In(max(1, (of.count - 1).bit_length())) for name, of in (("write", written), ("read", read))
        }
        ports = {**numbers, "write": In(1), **steps, "values": In(written.bits), "result": Out(read.bits), **more}
        super().__init__({name: each for name, each in ports.items() if each is not None})


class CornerTurn(Turn):
    """Holds ``parts`` times the items of ``moves``, of ``width`` bits each. A single part has no number.

    With ``write`` the items of ``write_step`` are on ``values``, port 0 lowest, and go into ``write_part``; ``result``
    has those of ``read_step`` of ``read_part`` at once, or where it is ``deep``, in block RAM, a cycle later; then
    none may be read in the cycle in which it is written. In no step have two items the same port.

    What goes from one port to another one is a bank. So an item finds its bank without a multiplexer, and a port of
    ``result`` chooses among as many banks as there are ports that its items came through. Banks with equal addresses
    are one memory.
    """

    def __init__(self, moves: tuple[Move, ...], item_bits: int, parts: int, *, deep: bool = False) -> None:
        self.moves, self.width, self.parts, self.deep = moves, item_bits, parts, deep
        super().__init__(*sizes_of(moves, item_bits), parts)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        banks: dict[tuple[int, int], list[Move]] = {}
        for move in sorted(self.moves):
            banks.setdefault((move.write_port, move.read_port), []).append(move)
        place = {move: at for bank in banks.values() for at, move in enumerate(bank)}
        place_bits = (max(place.values())).bit_length()
        read_place = {
            port: {move.read_step: place[move] for move in self.moves if move.read_port == port}
            for port in {port for _, port in banks}
        }

        memories: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
        for ports, bank in banks.items():
            write_place = {move.write_step: place[move] for move in bank}
            key = tuple(write_place.items()), tuple(sorted(read_place[ports[1]].items()))
            memories.setdefault(key, []).append(ports)
        data: dict[tuple[int, int], Value] = {}
        write_part, read_part = (self.write_part, self.read_part) if self.parts > 1 else (Cat(), Cat())
        steps = range(max(move.write_step for move in self.moves) + 1)
        for number, ((writes, reads), members) in enumerate(memories.items()):
            memory = Ram(m, f"memory_{number}", self.width * len(members), self.parts << place_bits, deep=self.deep)
            there = {step: int(step in dict(writes)) for step in steps}
            memory.write(
                self.write & _lookup(m, self.write_step, there, 1),
                Cat(_lookup(m, self.write_step, dict(writes), place_bits), write_part),
                Cat(self.values.word_select(port, self.width) for port, _ in members),
            )
            found = memory.read(Cat(_lookup(m, self.read_step, dict(reads), place_bits), read_part))
            data |= {ports: found.word_select(at, self.width) for at, ports in enumerate(members)}

        for port in sorted(read_place):
            sources = sorted(source for source, to in banks if to == port)
            wanted = {move.read_step: sources.index(move.write_port) for move in self.moves if move.read_port == port}
            choice = _lookup(m, self.read_step, wanted, (len(sources) - 1).bit_length())
            if self.deep and len(sources) > 1:
                choice = registered(m, choice, f"choice_{port}")
            items = {number: data[source, port] for number, source in enumerate(sources)}
            m.d.comb += self.result.word_select(port, self.width).eq(chosen(items, choice))
        return m


def chosen(items: Mapping[int, Value], number: Value) -> Value:
    """Item ``number``, which is there: a tree of multiplexers, a bit of ``number`` for each level."""
    if len(items) == 1:
        return next(iter(items.values()))
    halves = [{at >> 1: item for at, item in items.items() if at & 1 == bit} for bit in range(2)]
    if not all(halves):
        return chosen(halves[0] or halves[1], number[1:])
    even, odd = (chosen(half, number[1:]) for half in halves)
    return Mux(number[0], odd, even)


def _lookup(m: Module, index: Value, entries: Mapping[int, int], width: int) -> Value:
    """The entry of ``index`` in ``entries``, in ``width`` bits; anything where they say nothing."""
    return Cat(_bit(m, index, {at: entry >> bit & 1 for at, entry in entries.items()}) for bit in range(width))


def _bit(m: Module, index: Value, entries: Mapping[int, int]) -> Value:
    """One bit of it: if it can be a constant or a bit of ``index``, then that."""
    if len({*entries.values()}) == 1:
        return C(next(iter(entries.values())), 1)
    for bit in range(len(index)):
        if all(at >> bit & 1 == entry for at, entry in entries.items()):
            return index[bit]
    found = Signal(name="found")
    with m.Switch(index), m.Case(*(at for at, entry in entries.items() if entry)):
        m.d.comb += found.eq(1)
    return found
