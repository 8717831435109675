"""Promote: every token once and in order, the last one with the new stop."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amaranth.hdl import Assert, Module, Mux, Signal
from proving import refuted
from refuting import check, check_rule, proofs, some_or_all_mutants
from unit_bench import UnitBench, bare, control, equal, translated, words

from hw.firing import machine as skeleton
from hw.firing import mechanism, unit
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat
from step.firing.machine import Machine
from step.rules.promote import Promote

pytestmark = pytest.mark.large

SKELETON = [
    ("drops = self._drops[port] if port in self._drops else", "drops ="),
    ("claim.eq(self.fires & self._puts[port])", "claim.eq(self.fires)"),
]


class LastOneRaised(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), (put,), (sent,) = self.fronts, self.takes, self.puts, self.sent
        owed, token = Signal(), Signal(front.shape())  # a token that went in and did not come out
        its_words = Signal(self.words[0].shape())
        with m.If(take & ~front.done):
            m.d.sync += [token.eq(front), its_words.eq(self.words[0]), owed.eq(1)]
        with m.Elif(put):
            m.d.sync += owed.eq(0)
        rank = self.rule.inputs[0].rank
        raised = Mux(front.done, rank + 1, token.stop)
        m.d.comb += [
            Assert(~put | self.visible[0]),
            Assert(~put | Mux(owed, equal(sent, token, stop=raised), equal(sent, front))),
            Assert(~(put & ~owed) | (take & front.done)),
            Assert(~take | (put == (owed | front.done))),
            Assert(~(take & front.done) | ~owed),
            Assert(unit.fault == 0),
        ]
        self.expects[0] = its_words


def promoted(machine: type[Machine], token: TokenFormat) -> FiringRule:
    return translated(machine, [token], [replace(token, rank=token.rank + 1)], top=token.rank + 1)


@pytest.mark.parametrize("token", [words(1, 1), words(0, 3), control(1, 2), bare(2)])
def test_the_last_token_is_raised_and_none_is_lost(token: TokenFormat) -> None:
    assert refuted({"": LastOneRaised(promoted(Promote, token))}) == {}


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    check_rule(Promote, lambda each: LastOneRaised(promoted(each, words(1, 2))), thorough=thorough)


@proofs(("mutants",), [(SKELETON,)])
def test_the_skeleton_keeps_the_words_of_what_is_held(mutants: list[tuple[str, str]]) -> None:
    check(skeleton, lambda module: LastOneRaised(promoted(Promote, words(1, 2)), module), mutants, [mechanism])


def test_the_skeleton_knows_what_is_spare() -> None:
    mutants = [("int(port in self.rule.held or", "int(")]
    check(unit, lambda module: LastOneRaised(promoted(Promote, words(1, 2)), module), mutants)
