"""Memory ports that share AXI4 buses: the masters of `hw.axi`, and what answers them in simulation, as machines.

A master is served by the channel memory of `sim_approx.memory.channels` through one port for reads and one for writes
(docs/axi.md). Of each kind a `Master` turns tiles into bursts. What it may have outstanding, and beats that may wait
for their burst, are tokens that come back. A burst is one number: its first beat, and how many follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from step.firing.machine import Address, Machine
from step.firing.words import every, front, need, need_any, put, room, take, waiting, without
from step.language.tokens import UNKNOWN, Token

FOLLOW = 256
"""One more than the beats that may follow the first one of a burst."""

SOME = Token(UNKNOWN)
"""Says only that it is there."""

BURSTS, DUE, DATA = 0, 1, 2
"""Outputs of a `Master`: what goes to the bus, what it waits for, and the beats that are written."""


@dataclass(slots=True, eq=False, kw_only=True)
class Master(Machine):
    """One cycle of the registers of a master: whose turn it is, the tile that was asked for, the one that is cut.

    Inputs are the ports, then what may be asked for, then space for beats to be written. A port has ``pieces`` and
    ``beats`` a tile, a burst ends at a multiple of ``longest``. Words: ``port`` has its turn, ``at`` of its tokens were
    taken; a tile ``asked`` for begins at ``asked_place``; of one that is ``open`` ``left`` beats from ``place`` on are
    to become bursts.

    A cycle in which nothing changes comes again until something is there that was not: so it waits for that.
    """

    writes: bool
    pieces: Sequence[int]
    beats: Sequence[int]
    longest: int
    port: int = 0
    at: int = 0
    asked: bool = False
    asked_of: int = 0
    asked_place: Address = 0
    open: bool = False
    open_of: int = 0
    place: Address = 0
    left: int = 0

    def fire(self) -> int | None:
        ports = len(self.inputs) - 2
        offer = front(self.inputs[self.port])
        later = self.port
        for step in range(ports - 1):
            other = (self.port + ports - 1 - step) % ports
            if front(self.inputs[other]) is not None:
                later = other
        pushes = self.open and front(self.inputs[ports]) is not None
        length = min(self.left, self.longest - self.place % self.longest)
        cut = length == self.left
        loads = self.asked and (not self.open or (pushes and cut))
        free = not self.asked or loads
        first = self.at == 0
        takes = offer is not None and (free or not first)
        if self.writes and front(self.inputs[ports + 1]) is None:
            takes = False
        whole = self.at == self.pieces[self.port] - 1
        stays = offer is not None or not first or later == self.port
        if stays and not pushes and not loads and not takes:
            known = every(self.inputs)
            need_any(self.inputs, without(known, waiting(self.inputs, known)))
        if pushes:
            room(self.outputs[BURSTS])
            room(self.outputs[DUE])
        if takes and self.writes:
            room(self.outputs[DATA])
        if pushes:
            take(self.inputs[ports])
            put(self.outputs[BURSTS], Token(self.place * FOLLOW + length - 1))
            put(self.outputs[DUE], Token((self.open_of * 2 + cut) * FOLLOW + length - 1))
        if takes:
            take(self.inputs[self.port])
        if takes and self.writes:
            take(self.inputs[ports + 1])
            put(self.outputs[DATA], SOME)
        if loads:
            self.open_of = self.asked_of
            self.place = self.asked_place
            self.left = self.beats[self.asked_of]
        elif pushes:
            self.place += length
            self.left -= length
        self.open = loads or (self.open and not (pushes and cut))
        if free:
            self.asked = takes and first
            if takes and first and offer is not None:
                self.asked_of = self.port
                self.asked_place = offer.value
        if takes:
            self.at = 0 if whole else self.at + 1
        if (takes and whole) or (offer is None and first):
            self.port = later
        return None


@dataclass(slots=True, eq=False, kw_only=True)
class Spread(Machine):
    """Asks memory for the beats of bursts. Word: ``beat`` of the burst."""

    beat: int = 0

    def fire(self) -> int | None:
        burst = need(self.inputs[0])
        room(self.outputs[0])
        last = self.beat == burst.value % FOLLOW
        put(self.outputs[0], Token(burst.value // FOLLOW + self.beat))
        if last:
            take(self.inputs[0])
        self.beat = 0 if last else self.beat + 1
        return None


@dataclass(slots=True, eq=False, kw_only=True)
class HandOut(Machine):
    """Data on the bus, in ``transfers`` for each beat that came from memory: a tile is there with its last one.

    Outputs: what may be asked for again, then the ports. Words: ``part`` of the ``beat`` of the burst.
    """

    transfers: int
    part: int = 0
    beat: int = 0

    def fire(self) -> int | None:
        due = need(self.inputs[0])
        need(self.inputs[1])
        whole = self.part == self.transfers - 1
        last = whole and self.beat == due.value % FOLLOW
        to = due.value // FOLLOW
        if last:
            room(self.outputs[0])
        if last and to % 2 == 1:
            room(self.outputs[1 + to // 2])
        if whole:
            take(self.inputs[1])
        if last:
            take(self.inputs[0])
            put(self.outputs[0], SOME)
        if last and to % 2 == 1:
            put(self.outputs[1 + to // 2], SOME)
        self.part = 0 if whole else self.part + 1
        if whole:
            self.beat = 0 if last else self.beat + 1
        return None


@dataclass(slots=True, eq=False, kw_only=True)
class Transfer(Machine):
    """Data on the bus, in ``transfers`` for each beat, of bursts that were asked for.

    Inputs: bursts and beats. Outputs: space for a beat, beats for memory, and, with the first beat of a burst, what
    follows it: beats may be visible before the last one is here. Words: ``part`` of the ``beat`` of the burst.
    """

    transfers: int
    part: int = 0
    beat: int = 0

    def fire(self) -> int | None:
        burst = need(self.inputs[0])
        need(self.inputs[1])
        whole = self.part == self.transfers - 1
        last = whole and self.beat == burst.value % FOLLOW
        first = whole and self.beat == 0
        if whole:
            room(self.outputs[0])
            room(self.outputs[1])
        if first:
            room(self.outputs[2])
        if last:
            take(self.inputs[0])
        if whole:
            take(self.inputs[1])
            put(self.outputs[0], SOME)
            put(self.outputs[1], Token(burst.value // FOLLOW + self.beat))
        if first:
            put(self.outputs[2], Token(burst.value % FOLLOW))
        self.part = 0 if whole else self.part + 1
        if whole:
            self.beat = 0 if last else self.beat + 1
        return None


@dataclass(slots=True, eq=False, kw_only=True)
class Answer(Machine):
    """Memory answers a burst when all its beats are visible. Word: ``beat`` of the burst."""

    beat: int = 0

    def fire(self) -> int | None:
        follow = need(self.inputs[0])
        need(self.inputs[1])
        last = self.beat == follow.value
        if last:
            room(self.outputs[0])
        take(self.inputs[1])
        if last:
            take(self.inputs[0])
            put(self.outputs[0], SOME)
        self.beat = 0 if last else self.beat + 1
        return None


@dataclass(slots=True, eq=False, kw_only=True)
class Acknowledge(Machine):
    """Takes an answer, and then keeps the next one waiting for as long as the beats of the burst are told of.

    Word: ``told`` beats of it.
    """

    told: int = 0

    def fire(self) -> int | None:
        due = need(self.inputs[0])
        if self.told == 0:
            need(self.inputs[1])
        last = self.told == due.value % FOLLOW
        if self.told == 0:
            room(self.outputs[0])
        if last:
            room(self.outputs[1])
        if self.told == 0:
            take(self.inputs[1])
            put(self.outputs[0], SOME)
        if last:
            take(self.inputs[0])
            put(self.outputs[1], Token(due.value // FOLLOW))
        self.told = 0 if last else self.told + 1
        return None


@dataclass(slots=True, eq=False, kw_only=True)
class Tell(Machine):
    """Tells a port that a tile is visible, with the last burst of it."""

    def fire(self) -> int | None:
        told = need(self.inputs[0])
        if told.value % 2 == 1:
            room(self.outputs[told.value // 2])
        take(self.inputs[0])
        if told.value % 2 == 1:
            put(self.outputs[told.value // 2], SOME)
        return None
