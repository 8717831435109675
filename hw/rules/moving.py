"""The words of values: where those come from that follow a header."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value

from hw.firing import Firing
from hw.layout import TokenFormat
from hw.rules.execution import Execution
from hw.rules.numbers import Number
from hw.rules.values import ANY, Either, Front, Kept, Literal, Source, sources

Made = Callable[[Number], Value]
"""Makes hardware of a number."""


def words_of(literal: Literal, format: TokenFormat) -> list[int]:
    """The words of ``literal`` on a link of ``format``."""
    mask = (1 << format.link_bits) - 1
    items = zip(literal.items, format.item_words, strict=False)
    found = [item >> number * format.link_bits & mask for item, count in items for number in range(count)]
    return found or [0] * format.beats


class Moving:
    """Sends words out on the outputs of ``firing``, as it is ``executed``."""

    def __init__(self, executed: Execution, m: Module, firing: Firing, made: Made) -> None:
        self._executed, self._m, self._firing, self._made = executed, m, firing, made
        self._rule = firing.unit.rule

    def send(self, port: int, source: Source) -> None:
        """What goes out on output ``port`` behind a header are the words of ``source``."""
        format: TokenFormat = self._rule.outputs[port]
        if not format.word_bits:
            return
        found = sources(source)
        literals = [each for each in found if isinstance(each, Literal)]
        of_inputs = [each for each in found if isinstance(each, Front | Kept)]
        inputs = {each.port if isinstance(each, Front) else self._executed.words.held[each.word] for each in of_inputs}
        sides = self._executed.side_by_side(source)
        if sides and len(found) == 1:
            word = self._side_by_side(sides)
        elif not literals and len(inputs) == 1:
            word = self._firing.word(*inputs)
        elif literals and not inputs and format.beats == 1 and len(found) == len(literals):
            picked = self._firing.latched(self._pick(source, format))
            word = self._firing.lagging(picked) if self._rule.latency else picked
        elif len(literals) == 1 and len(inputs) == 1 and len(found) == 1 + len(of_inputs):
            word = self._padded(source, words_of(literals[0], format), self._firing.word(*inputs))
        else:
            what = " or ".join(map(str, found)) or "nothing"
            hint = "they are those of one input, a constant instead, or values side by side"
            text = self._executed.text
            text.refuse(text.body[0], f"the words of output {port} out of {what}", hint)
        self._firing.send(port, word)

    def _is(self, source: Source, test: Callable[[Source], bool]) -> Value:
        """Whether what goes out is such a source."""
        if not isinstance(source, Either):
            return Const(int(source is not ANY and test(source)), 1)
        yes, no = self._is(source.yes, test), self._is(source.no, test)
        same = isinstance(yes, Const) and isinstance(no, Const) and yes.value == no.value
        return yes if same else Mux(self._made(source.test), yes, no)

    def _pick(self, source: Source, format: TokenFormat) -> Value:
        """One word of several constants."""
        if isinstance(source, Either):
            return Mux(self._made(source.test), self._pick(source.yes, format), self._pick(source.no, format))
        return Const(words_of(source, format)[0] if isinstance(source, Literal) else 0, format.word_bits)

    def _padded(self, source: Source, padding: list[int], word: Value) -> Value:
        """Words of an input, or of a constant: registers that this sets take no gates."""
        pads = self._firing.latched(self._is(source, lambda each: isinstance(each, Literal)))
        constant = Array(Const(each, len(word)) for each in padding)[self._firing.phase()]
        if not self._rule.latency:
            return Mux(pads, constant, word)
        register = Signal(len(word), reset_less=True, name="padded")
        self._m.d.sync += register.eq(word)
        with self._m.If(pads):
            self._m.d.sync += register.eq(constant)
        return register

    def _side_by_side(self, ports: list[int]) -> Value:
        """The words of a tuple: those of its items, one after the other."""
        formats = [self._rule.inputs[port] for port in ports]
        bits = formats[0].link_bits
        word, begin = Signal(max(map(word_width, formats)), name="joined"), 0
        arrived = [self._firing.word(port) for port in ports]
        with self._m.Switch(self._firing.phase()):
            for source, format in zip(arrived, formats, strict=True):
                count = tuple_words(format)
                for number in range(count) if format.control else ():
                    with self._m.Case(begin + number):
                        self._m.d.comb += word.eq(source[number * bits : (number + 1) * bits])
                if not format.control:
                    with self._m.Case(*range(begin, begin + count)):
                        self._m.d.comb += word.eq(source)
                begin += count
        return word


def tuple_words(format: TokenFormat) -> int:
    """Words of an item in a tuple; those of control are there only."""
    return format.beats or -(-format.bits // format.link_bits)


def word_width(format: TokenFormat) -> int:
    """Bits of these words."""
    return format.word_bits or min(format.bits, format.link_bits)
