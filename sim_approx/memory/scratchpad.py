"""Scratchpads as the timing model sees them: pages and banks that several machines draw on.

Pages are tokens of channels, so that what one cycle takes and gives back is seen in the next one. Of the free pages,
which several machines want, each has a channel of its own, its *lane*: what one takes, it takes from the lanes of all.
Machines that draw on the same thing are tried in the order of the program within a cycle, and `Machine.contends` says
so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sim_approx.engine.words import Banks, Buffers, CycleClock
from step.firing.machine import Channel, Machine
from step.language.tokens import Token
from step.lowering.memory import IN_FLIGHT, Share, scratchpads
from step.lowering.netlist import Netlist

AnyMachine = TypeVar("AnyMachine", bound=Machine)


@dataclass(slots=True, eq=False, kw_only=True)
class ShareMachine(Machine):
    """A machine that fills or reads a share; its channels are those of `ShareSite`.

    ``slots`` tokens lie in a page. A tile has the place of ``words`` words, and a `Machine.burst` of them; ``tiled``:
    it may be without rows. ``banks`` are there where others use them too, and know this machine by its ``number``.
    """

    slots: int
    words: int
    tiled: bool
    in_flight: Channel
    taken: tuple[Channel, ...]
    buffers: Buffers
    banks: Banks | None
    number: int
    page_words: int


@dataclass(frozen=True)
class ShareSite:
    """A share of a scratchpad.

    ``in_flight`` has a token per buffer, ``pages`` one per page that anybody took, in the lane of this share, and
    ``rivals`` in those of the others. ``held`` and ``all_pages`` are there to be counted: the pages of this share, and
    those of the program. ``supply`` are the free pages, the first ones last; ``returned`` come back from this
    share; ``buffers`` has what was filled and is not read yet.
    ``fills`` and ``reads`` are banks that others use too, if there are others; ``number`` is what this share is there.
    """

    share: Share
    in_flight: Channel
    pages: Channel
    rivals: tuple[Channel, ...]
    held: Channel
    all_pages: Channel
    supply: tuple[Channel, ...]
    returned: Channel
    buffers: Buffers
    fills: Banks | None
    reads: Banks | None
    number: int
    page_words: int

    @property
    def counted(self) -> tuple[Channel, ...]:
        return self.held, self.all_pages

    @property
    def taken(self) -> tuple[Channel, ...]:
        """Channels that get a token with every page that this share takes."""
        return self.pages, *self.rivals, *self.counted

    def ports(self, words: int, *, fills: bool) -> dict[str, Any]:
        """Keyword arguments of a `ShareMachine` that fills or reads the share with tiles of ``words``."""
        names = "in_flight", "taken", "buffers", "number", "page_words"
        given = {"slots": self.share.slots, "banks": self.fills if fills else self.reads}
        return (
            given | dict.fromkeys(("words", "interval", "burst"), words) | {each: getattr(self, each) for each in names}
        )

    def used_by(self, machine: AnyMachine) -> AnyMachine:
        """``machine``, which fills or reads the share, as those of the rivals do in the same cycle."""
        machine.contends = bool(self.rivals)
        return machine


class ShareSites:
    """All shares of ``netlist``, by the names of their units; ``all_pages`` is what is counted of all together.

    ``channel`` makes a channel of a depth.
    """

    def __init__(self, netlist: Netlist, channel: Callable[[int], Channel], clock: CycleClock) -> None:
        self.by_filler: dict[str, ShareSite] = {}
        pads = scratchpads(netlist)
        everything = self.all_pages = channel(sum(pad.pages for pad in pads)) if pads else None
        for pad in pads:
            fresh = channel(pad.pages)
            fresh.tokens.extend(Token(page) for page in range(pad.pages))
            fresh.space = 0
            returned = [channel(pad.pages) for _ in pad.shares]
            pages = [channel(pad.pages) for _ in pad.shares]
            fills, reads = Banks(pad.banks, clock), Banks(pad.banks, clock)
            for at, share in enumerate(pad.shares):
                assert everything is not None
                several = share.words and len(pad.shares) > 1
                self.by_filler[share.filler.name] = ShareSite(
                    share,
                    channel(IN_FLIGHT),
                    pages[at],
                    (*pages[:at], *pages[at + 1 :]),
                    channel(pad.pages),
                    everything,
                    (*reversed(returned), fresh),
                    returned[at],
                    Buffers(),
                    fills if several else None,
                    reads if several else None,
                    at,
                    pad.page_words,
                )
        self.by_unit = self.by_filler | {site.share.reader.name: site for site in self.by_filler.values()}
