"""Broadcast: every token to all outputs at once, as it is."""

from __future__ import annotations

import pytest
from amaranth.hdl import Assert, Module
from proving import refuted
from refuting import check, check_rule, proofs, some_or_all_mutants
from unit_bench import UnitBench, bare, control, equal, translated, words

from hw.firing import machine as skeleton
from hw.firing import mechanism
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat
from step.firing.machine import Machine
from step.rules.broadcast import Broadcast

pytestmark = pytest.mark.large

SKELETON = [
    ("m.d.comb += head.open.eq(pulses[1])", "m.d.comb += head.open.eq(0)"),
    ("m.d.comb += head.drop.eq(pulses[0])", "m.d.comb += head.drop.eq(head.valid)"),
    ("else self._takes[port] & value", "else self._takes[port]"),
    ("head.ready.eq(self.fires & self._takes[port])", "head.ready.eq(self._takes[port])"),
    ("self._busy.eq(runs)", "self._busy.eq(left > 1)"),
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


def copied(machine: type[Machine], token: TokenFormat, *copies: TokenFormat) -> FiringRule:
    return translated(machine, [token], copies)


@pytest.mark.parametrize("token", [words(2, 1), control(2, 2), bare(2)])
def test_every_token_goes_everywhere_once(token: TokenFormat) -> None:
    assert refuted({"": Copies(copied(Broadcast, token, token, bare(2), token))}) == {}


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    token = words(2, 2)
    check_rule(Broadcast, lambda each: Copies(copied(each, token, token, bare(2), token)), thorough=thorough)


@proofs(("mutants",), [(SKELETON,)])
def test_the_skeleton_passes_words_on(mutants: list[tuple[str, str]]) -> None:
    token = words(1, 2)
    check(skeleton, lambda module: Copies(copied(Broadcast, token, token, bare(1)), module), mutants, [mechanism])
