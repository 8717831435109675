"""Streamify: reads the buffers of a scratchpad, as often as a reference or a constant says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim_approx.engine.words import drop, enter, entry, page_count, page_of, pass_through
from sim_approx.memory.scratchpad import ShareMachine
from sim_approx.placing.site import UnitSite, stored_sizes
from step.firing.machine import COMPUTES, ENDS, Channel, Machine
from step.firing.words import fault, need, put, room, take
from step.language.faults import Fault, rows_of
from step.language.tokens import Token, empty
from step.language.types import is_dynamic
from step.ops.streamify import Streamify as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Streamify(ShareMachine):
    """A token of the buffer each firing.

    ``extra``: dimensions that the reads make, ``depth``: those of a read. ``walk`` and ``levels`` are slots and stops
    of an affine read. Words: ``step`` of the read, ``index`` of the read where they are counted.
    """

    count: int
    extra: int
    depth: int
    walk: Sequence[int]
    levels: Sequence[int]
    returned: Channel
    step: int = 0
    index: int = 0

    def fire(self) -> int | None:
        # The reference of this read: an input, or what the buffer and the count of reads say.
        data = need(self.inputs[0])
        if len(self.inputs) == 2:
            x = need(self.inputs[1])
        elif data.done or self.extra == 0:
            x = data
        elif data.rank:
            x = empty(data.rank + 1, data.stop + 1)
        else:
            x = Token(data.value, data.stop + 1 if self.index == self.count - 1 else 0)
        ends = x.done or x.stop >= self.extra
        outside = x.rank - self.extra if x.rank > self.extra else 0
        wrong = ends and not x.done and x.stop != data.stop + self.extra
        if x.done != data.done or outside != data.rank or wrong:
            fault(Fault.STOPS_DISAGREE)
        # The token that leaves, whether it is the last one of a read, and its place in the banks.
        token = x
        last = True
        place = 0
        if not x.done and not (data.has_value and x.has_value):
            token = empty(x.rank + self.depth, x.stop + self.depth)
        elif not x.done:
            slot = self.walk[self.step] if self.walk else self.step
            token = entry(self.buffers, slot)
            level = self.levels[self.step] if self.walk else token.stop
            last = level == self.depth
            token = Token(token.value, level + x.stop if last else level, token.rank)
            page = page_of(self.buffers, slot // self.slots)
            place = page * self.page_words + slot % self.slots * self.words
        loads = token.has_value and (not self.tiled or rows_of(token.value) > 0)
        if loads and self.banks is not None:
            enter(self.banks, self.number, place)
        room(self.outputs[0])
        if token.has_value:
            self.resize(token.value)
        put(self.outputs[0], token)
        if loads and self.banks is not None:
            pass_through(self.banks, self.number, place, self.burst)
        # The end of a read, and of all reads of a buffer, which is given back.
        self.step = 0 if last else self.step + 1
        if last:
            self.index = 0 if ends else self.index + 1
            if len(self.inputs) == 2:
                take(self.inputs[1])
            if ends:
                take(self.inputs[0])
                if data.has_value:
                    take(self.in_flight)
                    for number in range(page_count(self.buffers)):
                        put(self.returned, Token(page_of(self.buffers, number)))
                        for each in self.taken:
                            take(each)
                    drop(self.buffers)
        return COMPUTES if token.has_value else ENDS if x.done else None


def build(site: UnitSite) -> Machine:
    operator, share = site.node.operator, site.share
    assert isinstance(operator, Operator) and share is not None
    walk = [] if operator.out is None else operator.walk()
    machine = Streamify(
        **share.ports(site.words_out[0], fills=False),
        inputs=site.inputs,
        outputs=(*site.outputs, share.returned),
        count=operator.count or 1,
        extra=operator.extra(site.node),
        depth=len(operator.out or share.share.buffer.shape),
        walk=[slot for slot, _ in walk],
        levels=[level for _, level in walk],
        tiled=is_dynamic(site.elements_out[0]),
        returned=share.returned,
    )
    return site.add(share.used_by(machine))


sizes = stored_sizes
