"""Bufferize: puts tokens into a scratchpad, and sends a reference for each buffer that is complete."""

from __future__ import annotations

from dataclasses import dataclass

from sim_approx.engine.words import begin, enter, fill, lay, pass_through
from sim_approx.memory.scratchpad import ShareMachine
from sim_approx.placing.site import UnitSite, stored_sizes
from step.firing.machine import COMPUTES, ENDS, Channel, Machine
from step.firing.words import fault, front, need, put, reserve, room, take
from step.language.faults import Fault, rows_of
from step.language.tokens import UNKNOWN, Token, empty
from step.ops.bufferize import Bufferize as Operator
from step.rules.broadcast import Broadcast


@dataclass(slots=True, eq=False, kw_only=True)
class Bufferize(ShareMachine):
    """A token each firing goes into the buffer, which has ``most`` pages.

    Words: ``slot`` that is filled next, ``page`` of it, and of the present buffer the numbers of its ``entries`` and
    ``pages``.
    """

    rank: int
    most: int
    free_pages: Channel
    rivals: tuple[Channel, ...]
    supply: tuple[Channel, ...]
    slot: int = 0
    page: int = 0
    entries: int = 0
    pages: int = 0

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        inside = not x.done and x.rank <= self.rank
        last = x.stop >= self.rank
        new = inside and self.slot == 0
        if new and self.pages == self.most:
            fault(Fault.BUFFER_TOO_LARGE)
        page = self.page
        source = self.supply[0]
        if new:
            for each in self.supply:
                found = front(each)
                if found is not None:
                    source = each
                    page = found.value
        if inside and not self.entries:
            room(self.in_flight)
        if new:
            room(self.free_pages)
        place = page * self.page_words + self.slot * self.words
        stores = x.has_value and (not self.tiled or rows_of(x.value) > 0)
        if stores and self.banks is not None:
            enter(self.banks, self.number, place)
        if last or not inside:
            room(self.outputs[0])
        take(self.inputs[0])
        if x.has_value:
            self.resize(x.value)
        if not inside:
            put(self.outputs[0], x if x.done else empty(x.rank - self.rank, x.stop - self.rank))
            return ENDS if x.done else None
        if not self.entries:
            begin(self.buffers)
            put(self.in_flight, x)
        if new:
            take(source)
            for each in self.taken:
                put(each, x)
            for each in self.rivals:
                reserve(each, 1)
            self.page = page
            self.pages += 1
            lay(self.buffers, page)
        if stores and self.banks is not None:
            pass_through(self.banks, self.number, place, self.burst)
        self.entries += 1
        fill(self.buffers, Token(x.value, min(x.stop, self.rank), x.rank))
        self.slot = 0 if last or self.slot == self.slots - 1 else self.slot + 1
        if last:
            put(self.outputs[0], Token(UNKNOWN, x.stop - self.rank))
            self.entries = 0
            self.pages = 0
        return COMPUTES if x.has_value else None


def build(site: UnitSite) -> Machine:
    operator, share = site.node.operator_as(Operator), site.share
    if share is None:
        return site.add(Broadcast(**site.ports(), interval=site.words))  # nobody reads, so nothing is kept
    machine = Bufferize(
        **share.ports(site.words, fills=True),
        inputs=site.inputs,
        outputs=(*site.outputs, share.in_flight, share.pages, *share.counted),
        rank=operator.rank,
        most=share.share.pages,
        tiled=bool(site.tiled),
        free_pages=share.pages,
        rivals=share.rivals,
        supply=share.supply,
    )
    return site.add(share.used_by(machine))


sizes = stored_sizes
