"""Broadcast: every token to all outputs at once, as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Assert, Module
from refuting import check
from unit_bench import UnitBench, bare, control, equal, words

from hw import firing as skeleton
from hw.layout import TokenFormat
from hw.unit import Unit
from hw.units import broadcast

MUTANTS = [
    ("firing.put(port, token)", "firing.put(port, token, when=port != 1)"),
    ("firing.take(0)", "pass"),
    ("firing.put(port, token)", "firing.put(port, token, stop=0)"),
    ("firing.occupy(when=token.value)", "firing.occupy(when=token.done)"),
    ("firing.occupy(when=token.value)", "pass"),
]
SKELETON = [
    ("m.d.comb += head.open.eq(pulses[1])", "m.d.comb += head.open.eq(0)"),
    ("m.d.comb += head.drop.eq(pulses[0])", "m.d.comb += head.drop.eq(head.valid)"),
    ("else self._takes[port] & value", "else self._takes[port]"),
    ("head.ready.eq(self.fires & self._takes[port])", "head.ready.eq(self._takes[port])"),
    ("self._busy.eq(left != 0)", "self._busy.eq(left > 1)"),
    ("full.eq(when & ~channel.space)", "full.eq(0)"),
    ("missing.eq(~there)", "missing.eq(0)"),
]


class Copies(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (take,), (front,) = self.takes, self.fronts
        for port, (put, sent) in enumerate(zip(self.puts, self.sent, strict=True)):
            m.d.comb += [Assert(put == take), Assert(~put | equal(sent, front))]
            self.expects[port] = self.words[0]
        m.d.comb += Assert(unit.fault == 0)


@pytest.mark.parametrize(
    ("token", "mutants"), [(words(2, 2), MUTANTS), (words(2, 1), []), (control(2, 2), []), (bare(2), [])]
)
def test_every_token_goes_everywhere_once(token: TokenFormat, mutants: list[tuple[str, str]]) -> None:
    def bench(module: Any) -> Copies:
        return Copies(module.Broadcast(token, (token, replace(token, items=(), control=False), token)))

    check(broadcast, bench, mutants)


def test_the_skeleton_passes_words_on() -> None:
    token = words(1, 2)
    check(skeleton, lambda module: Copies(broadcast.Broadcast(token, (token, bare(1))), module), SKELETON)
