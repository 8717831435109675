"""The words of values: where those come from that follow a header."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value

from hw.firing.machine import Firing
from hw.links.layout import TokenFormat
from hw.rules.execution import Execution
from hw.rules.numbers import Number
from hw.rules.values import ANY, Joined, Literal


def words_of(literal: Literal, format: TokenFormat) -> list[Value]:
    """The words of ``literal`` on a link of ``format``."""
    items = zip(literal.items, format.item_words, strict=False)
    found = [item >> number * format.link_bits for item, count in items for number in range(count)]
    mask = (1 << format.word_bits) - 1
    return [Const(each & mask, format.word_bits) for each in found or [0] * format.beats]


def send_words(executed: Execution, m: Module, firing: Firing, made: Callable[[Number], Value], port: int) -> None:
    """What goes out on output ``port`` of ``firing`` behind a header are the words of its sources."""
    rule = firing.unit.rule
    format: TokenFormat = rule.outputs[port]
    if not format.word_bits:
        return
    ways = executed.ways(port)
    source: Any = executed.token(port).carries.source if ways else ANY
    literals = {number: words_of(each, format) for number, each in ways.items() if isinstance(each, Literal)}

    def chosen(number: Number, by: dict[int, Value]) -> Value:
        """The one of ``by`` whose source goes out."""
        if number.op != "mux":
            return by[number.lo]
        test, yes, no, _ = number.args
        return Mux(made(test), chosen(yes, by), chosen(no, by))

    (place,) = [each for each in ways.values() if not isinstance(each, Literal)] or [None]
    if place is None:
        word = firing.latched(chosen(source, {number: each for number, (each,) in literals.items()}))
        word = firing.lagging(word) if rule.latency else word
    elif isinstance(place, Joined):
        word = side_by_side(m, firing, place.ports)
    else:
        word = firing.word(place)
    if place is not None and literals:
        (padding,) = literals.values()
        pads = firing.latched(chosen(source, {number: Const(int(number in literals), 1) for number in ways}))
        word = padded(m, firing, pads, Array(padding)[firing.phase()], word)
    firing.send(port, word)


def padded(m: Module, firing: Firing, pads: Value, constant: Value, word: Value) -> Value:
    """``word``, or a ``constant``: registers that this sets take no gates."""
    if not firing.unit.rule.latency:
        return Mux(pads, constant, word)
    register = Signal(len(word), reset_less=True, name="padded")
    m.d.sync += register.eq(word)
    with m.If(pads):
        m.d.sync += register.eq(constant)
    return register


def side_by_side(m: Module, firing: Firing, ports: tuple[int, ...]) -> Value:
    """The words of a tuple: those of its items, one after the other."""
    formats = [firing.unit.rule.inputs[port] for port in ports]
    bits = formats[0].link_bits
    width = max(each.word_bits or min(each.bits, bits) for each in formats)
    word, begin = Signal(width, name="joined"), 0
    arrived = [firing.word(port) for port in ports]
    with m.Switch(firing.phase()):
        for source, format in zip(arrived, formats, strict=True):
            parts = [source[at : at + bits] for at in range(0, format.bits, bits)] if format.control else [source]
            count = tuple_words(format)
            for number, part in enumerate(parts):
                with m.Case(*range(begin + number, begin + number + count // len(parts))):
                    m.d.comb += word.eq(part)
            begin += count
    return word


def tuple_words(format: TokenFormat) -> int:
    """Words of an item in a tuple; those of control are there only."""
    return format.beats or -(-format.bits // format.link_bits)
