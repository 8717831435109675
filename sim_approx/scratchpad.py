"""Scratchpads as the timing model sees them: pages and ports that several machines draw on.

All of it is channels, so that what one cycle takes and gives back is seen in the next one. Of what several machines
want each has a channel of its own, its *lane*: what one takes, it takes from the lanes of all. Machines that
draw on the same thing are tried in the order of the program within a cycle, and `Machine.contends` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sim_approx.machine import Channel
from step.language.tokens import Token
from step.lowering.netlist import Netlist
from step.lowering.scratchpads import IN_FLIGHT, Share, scratchpads


class Filled(NamedTuple):
    """A buffer: its tokens, and the pages in which they lie."""

    entries: Sequence[Token]
    pages: Sequence[int]


@dataclass(frozen=True)
class Lanes:
    """The ports of the banks for one machine: ``own[bank]`` must be open; ``others[bank]`` are closed by its use.

    Nothing, where there are no words.
    """

    own: tuple[Channel, ...]
    others: tuple[tuple[Channel, ...], ...]


@dataclass(frozen=True)
class ShareSite:
    """A share of a scratchpad.

    ``in_flight`` has a token per buffer, ``pages`` one per page that anybody took, in the lane of this share, and
    ``rivals`` in those of the others. ``held`` and ``all_pages`` are there to be counted: the pages of this share, and
    those of the program. ``supply`` are the free pages, the first ones last; ``returned`` come back from this share.
    """

    share: Share
    in_flight: Channel
    pages: Channel
    rivals: tuple[Channel, ...]
    held: Channel
    all_pages: Channel
    supply: tuple[Channel, ...]
    returned: Channel
    fills: Lanes
    reads: Lanes

    @property
    def counted(self) -> tuple[Channel, ...]:
        return self.held, self.all_pages

    @property
    def taken(self) -> tuple[Channel, ...]:
        """Channels that get a token with every page that this share takes."""
        return self.pages, *self.rivals, *self.counted


@dataclass(frozen=True)
class ShareSites:
    """All shares of a netlist, by the names of their units; ``all_pages`` is what is counted of all together."""

    by_unit: dict[str, ShareSite]
    all_pages: Channel | None

    @property
    def by_filler(self) -> dict[str, ShareSite]:
        return {name: each for name, each in self.by_unit.items() if each.share.filler.name == name}


def share_sites(netlist: Netlist, channel: Callable[[int], Channel]) -> ShareSites:
    """Place what the scratchpads of ``netlist`` are made of; ``channel`` makes a channel of a depth."""
    found: dict[str, ShareSite] = {}
    pads = scratchpads(netlist)
    everything = channel(sum(pad.pages for pad in pads)) if pads else None
    for pad in pads:
        fresh = channel(pad.pages)
        fresh.tokens.extend(Token(page) for page in range(pad.pages))
        fresh.space = 0
        returned = [channel(pad.pages) for _ in pad.shares]
        pages = [channel(pad.pages) for _ in pad.shares]
        fills, reads = (
            _lanes([bool(share.beats) for share in pad.shares], pad.banks, channel) for _ in ("fill", "read")
        )
        for at, share in enumerate(pad.shares):
            assert everything is not None
            site = ShareSite(
                share,
                channel(IN_FLIGHT),
                pages[at],
                (*pages[:at], *pages[at + 1 :]),
                channel(pad.pages),
                everything,
                (*reversed(returned), fresh),
                returned[at],
                fills[at],
                reads[at],
            )
            found[share.filler.name] = found[share.reader.name] = site
    return ShareSites(found, everything)


def _lanes(wanting: Sequence[bool], banks: int, channel: Callable[[int], Channel]) -> list[Lanes]:
    """For each machine, whether or not it is ``wanting`` banks, its lanes."""
    own = [tuple(channel(1) for _ in range(banks)) if wants else () for wants in wanting]
    return [
        Lanes(
            lanes,
            tuple(tuple(each[bank] for each in own if each and each is not lanes) for bank in range(len(lanes))),
        )
        for lanes in own
    ]
