"""The words of values: where those come from that follow a header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value

from hw.firing.arrival_order import selected
from hw.firing.machine import Firing
from hw.links.layout import TokenFormat
from hw.links.words import whole
from hw.rules.execution import Execution, tuple_words
from hw.rules.numbers import Number
from hw.rules.values import Arriving, Listing, Literal
from step.lowering.links import Span


def words_of(literal: Literal, format: TokenFormat) -> list[Value]:
    """The words of ``literal`` on a link of ``format``."""
    items = zip(literal.items, format.item_words, strict=False)
    found = [item >> number * format.link_bits for item, count in items for number in range(count)]
    mask = (1 << format.word_bits) - 1
    return [Const(each & mask, format.word_bits) for each in found or [0] * format.words]


def send_words(
    executed: Execution, m: Module, firing: Firing, made: Callable[[Number], Value], port: int, rows: Any
) -> None:
    """Send the words of its sources on output ``port`` of ``firing``, behind a header or late in it.

    Tiles of dynamic size have so many ``rows``.
    """
    rule, format = firing.unit.rule, firing.unit.rule.outputs[port]
    places, literals = executed.split(port)
    if not format.word_bits and (not format.control or all(each.is_whole for each in places)):
        return

    def chosen(number: Number, by: dict[int, Value]) -> Value:
        """The one of ``by`` whose source goes out."""
        if number.op != "mux":
            return by[number.lo]
        test, yes, no, _ = number.args
        return Mux(made(test), chosen(yes, by), chosen(no, by))

    ways = executed.ways(port)
    source, taken = executed.token(port).carries.source, 0  # cycles that the word took to come this far
    constants = {number: words_of(each, format) for number, each in literals.items()}
    if listed := [each for each in ways.values() if isinstance(each, Listing)]:
        word: Value = listed_word(firing, format, listed[0].values, firing.latched(made(listed[0].number)))
    elif not ways:
        word = Const(0, format.word_bits)
    elif not places:
        word = firing.latched(chosen(source, {number: each for number, (each,) in constants.items()}))
    elif places[0].mask is not None:
        word = selected(firing.latched(made(places[0].mask)), [firing.word(each) for each in places[0].ports])
    elif len(places[0].ports) > 1:
        word = side_by_side(m, firing, places[0].ports, rows)
    else:
        word = firing.word(places[0].ports[0])
    if places and constants:
        (padding,), taken = constants.values(), min(rule.latency, 1)
        pads = firing.latched(chosen(source, {number: Const(int(number in constants), 1) for number in ways}))
        word = padded(m, firing, pads, Array(padding)[firing.phase()], word)
    if places and places[0].first is not None:
        word, taken = item_of(m, firing, format, places[0], word, rows)
    if taken > rule.latency or (rule.is_stamped and taken < rule.latency):
        hint = f"what it sends is there after {taken}"
        executed.refuse(executed.rule.body[0], f"a latency of {rule.latency}", hint)
    for _ in range(rule.latency - taken):
        word = firing.registered(word)
    if format.control:
        firing.complete(port, control=word)
    else:
        firing.send(port, word)


def listed_word(firing: Firing, format: TokenFormat, values: range | tuple[Literal, ...], number: Signal) -> Value:
    """The words of the integer that ``number`` is, or of that value in a list."""
    if isinstance(values, range):
        return number.word_select(firing.phase(), format.word_bits)
    words = Array(word for each in values for word in words_of(each, format))
    return Value.cast(words[number * format.words + firing.phase() if format.words > 1 else number])


def item_of(
    m: Module, firing: Firing, format: TokenFormat, place: Arriving, word: Value, rows: Any
) -> tuple[Value, int]:
    """The words of the item at ``place`` in a tuple that ``word`` has, or its control; and when it is there, behind
    tiles of dynamic size with the most rows."""
    (port,), first, comes = place.ports, place.begins.at(rows), place.comes(rows)
    rule = firing.unit.rule
    most = place.comes(rule.inputs[port].most_rows)
    if place.begins.rows:
        first, comes = firing.latched(first), firing.latched(comes)
    if rule.inputs[port].words > 1:
        firing.read_from(port, first)
    if not format.control:
        return word[: format.word_bits], most
    item = replace(format, control=False)
    return whole(m, "item", word, firing.phase() - comes, item, item.words - 1), most + item.words


def padded(m: Module, firing: Firing, pads: Value, constant: Value, word: Value) -> Value:
    """``word``, or a ``constant``: registers that this sets take no gates."""
    if not firing.unit.rule.latency:
        return Mux(pads, constant, word)
    register = Signal(len(word), reset_less=True, name="padded")
    m.d.sync += register.eq(word)
    with m.If(pads):
        m.d.sync += register.eq(constant)
    return register


def side_by_side(m: Module, firing: Firing, ports: tuple[int, ...], rows: Any) -> Value:
    """The words of a tuple: those of its items, one after the other; tiles of dynamic size have so many ``rows``."""
    formats = [firing.unit.rule.inputs[port] for port in ports]
    bits = formats[0].link_bits
    width = max(each.word_bits or min(each.bits, bits) for each in formats)
    word, begin = Signal(width, name="joined"), 0
    arrived = [firing.word(port) for port in ports]
    words = [
        [source[at : at + bits] for at in range(0, format.bits, bits)] if format.control else [source]
        for source, format in zip(arrived, formats, strict=True)
    ]
    counts = [tuple_words(format) for format in formats]
    if any(each.rows for each in counts):
        phase = firing.phase()
        for parts, begins in zip(words, accumulate(counts, initial=Span()), strict=False):
            begin = firing.latched(begins.at(rows)) if begins.rows else begins.fixed
            with m.If(phase >= begin):  # of those that have no words the next one begins there as well
                m.d.comb += word.eq(Array(parts)[phase - begin] if len(parts) > 1 else parts[0])
        return word
    with m.Switch(firing.phase()):
        for parts, count in zip(words, (each.fixed for each in counts), strict=True):
            for number, part in enumerate(parts):
                with m.Case(*range(begin + number, begin + number + count // len(parts))):
                    m.d.comb += word.eq(part)
            begin += count
    return word
