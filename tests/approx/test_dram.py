"""A channel of DRAM keeps every rule of JEDEC, is as fast as they allow, and refreshes when it should."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise, product
from random import Random

import pytest
from drams import SMALL, random_dram

from sim_approx.memory.dram import CLOSED, DramChannel
from step.lowering.dram import PRESETS, Dram
from step.lowering.off_chip import MemoryConfig


@dataclass(frozen=True)
class Burst:
    """Of a beat that was granted in clock ``asked``, with its commands; ``activate`` is -1 where the row was open."""

    asked: int
    bank: int
    group: int
    row: int
    writes: bool
    activate: int
    column: int
    data: int


class Watched(DramChannel):
    """A channel that notes its commands; ``refreshes`` are the clocks in which they began."""

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self.beats: list[Burst] = []
        self.refreshes: list[int] = []

    def ask(self, address: int, writes: bool, clock: int) -> Burst:
        """Grant a beat in ``clock``, or as soon as there is room, and refresh before; returns the first burst of it."""
        clock = max(clock, self.data_ends[self.granted % self.dram.queue])
        assert self.has_room(clock)
        while self.refresh_at <= clock:
            self.refresh(self.refresh_at)
            assert self.row == [CLOSED] * self.dram.banks
            self.refreshes.append(self.activate_from[0] - self.dram.trfc)
        assert self.grant(address, writes, clock) == self.beats[-1].data + self.dram.burst
        return self.beats[-self.columns]

    def move(self, bank: int, row: int, writes: bool, clock: int) -> None:
        activate, data = self.plan(bank, row, writes, clock)
        super().move(bank, row, writes, clock)
        column = data - (self.dram.cwl if writes else self.dram.cl)
        self.beats.append(Burst(clock, bank, bank % self.dram.bank_groups, row, writes, activate, column, data))


def check_banks(channel: Watched) -> None:
    """Each bank has the right row open, long enough before and behind its column commands."""
    dram, by_bank = channel.dram, defaultdict[int, list[Burst]](list)
    for beat in channel.beats:
        by_bank[beat.bank].append(beat)
    for beats in by_bank.values():
        opened: Burst | None = None
        closed_from = 0  # the first clock of a precharge
        for beat in beats:
            assert min(beat.column, beat.activate if beat.activate >= 0 else beat.column) >= beat.asked
            refreshed = [each for each in channel.refreshes if opened is None or each > opened.activate]
            if beat.activate >= 0:
                if opened is not None:
                    assert beat.activate - dram.trp >= closed_from
                    assert beat.activate - opened.activate >= dram.tras + dram.trp
                assert opened is None or opened.row != beat.row or any(each <= beat.activate for each in refreshed)
                opened, closed_from = beat, beat.activate + dram.tras
            assert opened is not None and opened.row == beat.row
            assert beat.column >= opened.activate + dram.trcd
            assert not any(opened.activate < each < beat.column for each in channel.refreshes)
            if beat.writes:
                closed_from = max(closed_from, beat.data + dram.burst + dram.twr)
            else:
                closed_from = max(closed_from, beat.column + dram.trtp)


def check_channel(channel: Watched) -> None:
    """Between commands of all banks and of a group, on the data bus, and around refreshes."""
    dram, beats = channel.dram, channel.beats
    activations = [beat for beat in beats if beat.activate >= 0]
    for one, other in pairwise(activations):
        assert other.activate - one.activate >= dram.trrd_s
    for one, other in zip(activations, activations[4:], strict=False):
        assert other.activate - one.activate >= dram.tfaw
    for at, one in enumerate(beats):
        for other in beats[at + 1 : at + 40]:
            turns = other.writes and not one.writes
            assert other.data >= one.data + dram.burst + (dram.turnaround if turns else 0)
            same = one.group == other.group
            if same:
                assert other.column - one.column >= dram.tccd_l
            if one.writes and not other.writes:
                assert other.column >= one.data + dram.burst + (dram.twtr_l if same else dram.twtr_s)
            if same and one.activate >= 0 and other.activate >= 0:
                assert other.activate - one.activate >= dram.trrd_l
    for begin in channel.refreshes:
        assert not any(begin <= beat.activate < begin + dram.trfc for beat in activations)
    for number, begin in enumerate(channel.refreshes, start=1):
        assert begin >= number * dram.trefi


@pytest.mark.parametrize("seed", range(60))
def test_no_command_breaks_a_rule(seed: int) -> None:
    choose = Random(seed)
    dram = [random_dram(choose), PRESETS["hbm2"].dram, PRESETS["ddr4"].dram][seed % 3]
    assert dram is not None
    width = choose.choice([8, dram.burst_bytes, 2 * dram.burst_bytes, 4 * dram.burst_bytes])
    channel = Watched(MemoryConfig(width, channels=1, interleave=choose.choice([1, 2]), dram=dram))
    clock, longest, beats = 0, choose.choice([0, 3, 100]), choose.choice([64, 4096])
    for _ in range(300):
        clock = channel.ask(choose.randrange(beats), choose.random() < 0.4, clock + choose.randint(0, longest)).asked
    check_banks(channel)
    check_channel(channel)


def channel(kind: str = "hbm2", **others: int) -> Watched:
    """One channel of a preset."""
    dram = PRESETS[kind].dram
    assert dram is not None
    return Watched(MemoryConfig(channels=1, dram=replace(dram, **others)))


def same_bank(found: Watched) -> list[int]:
    """Addresses in bank 0, each in another row."""
    return [address for address in range(0, 1 << 16, 64) if found.place(address)[0] == 0][:: found.row_columns // 16][
        :8
    ]


@pytest.mark.parametrize(("kind", "hit", "closed", "conflict"), [("hbm2", 14, 28, 42), ("ddr4", 19, 38, 57)])
def test_hit_miss_and_conflict(kind: str, hit: int, closed: int, conflict: int) -> None:
    """Of an idle channel: CL; tRCD more; tRP more."""
    found = channel(kind)
    one, other, *_ = same_bank(found)
    waits = [found.ask(address, False, clock).data - clock for address, clock in ((one, 100), (one, 300), (other, 500))]
    assert waits == [closed, hit, conflict]


def rate(found: Watched, addresses: list[int], writes: list[bool] | None = None) -> float:
    """Clocks a beat, without a pause, in the long run."""
    beats = [found.ask(each, (writes or [False])[at % len(writes or [0])], 0) for at, each in enumerate(addresses)]
    return (beats[-1].data - beats[len(beats) // 2].data) / (len(beats) - 1 - len(beats) // 2)


@pytest.mark.parametrize("kind", ["hbm2", "ddr4"])
def test_rates_that_follow_from_one_timing(kind: str) -> None:
    """Without refresh: the bus, the column commands of a group, the rows of a bank, four activations."""
    never: dict[str, int] = {"trefi": 1 << 40, "group_beats": 1}
    dram = channel(kind).dram
    assert rate(channel(kind, **never), list(range(512))) == dram.burst
    assert rate(channel(kind, **never), list(range(0, 512, 4))) == dram.tccd_l  # one bank group
    in_one_bank = same_bank(channel(kind))[:2] * 200
    assert rate(channel(kind, **never), in_one_bank) == max(dram.tras, dram.trcd + dram.trtp) + dram.trp
    found = channel(kind, **never)
    lies_at = {found.place(address): address for address in range(1 << 16)}
    by_turns = [lies_at[bank, row] for row in range(8) for bank in range(dram.banks)]
    assert rate(found, [*by_turns, by_turns[0]]) == max(dram.trrd_s, dram.tfaw / 4)


@pytest.mark.parametrize("kind", ["hbm2", "ddr4"])
def test_turning_the_bus(kind: str) -> None:
    """A read and a write by turns, in open rows: both ways of the bus, with the commands' latencies."""
    found = channel(kind, trefi=1 << 40)
    dram = found.dram
    to_write = dram.burst + dram.turnaround
    to_read = dram.burst + dram.twtr_l + dram.cl  # from the data of the write, in the same group
    assert rate(found, [0] * 401, [False, True]) == (to_write + to_read) / 2


def test_refresh_takes_its_share() -> None:
    """Of a stream, in every tREFI: the row is closed, refreshed and opened again, and no data passes."""
    found = channel("hbm2", group_beats=1)
    dram = found.dram
    data = [found.ask(address, False, 0).data for address in range(20_000)]
    pauses = [late - early for early, late in pairwise(data) if late - early > dram.trfc]
    assert len(pauses) == len(found.refreshes) == data[-1] // dram.trefi
    assert min(pauses) == dram.trtp + dram.trp + dram.trfc + dram.trcd
    assert max(pauses) < min(pauses) + dram.tras


def test_an_idle_channel_refreshes_in_time() -> None:
    found = channel("ddr4")
    beat = found.ask(0, False, 10 * 10400 + 5)
    assert found.refreshes == [10400 * number for number in range(1, 11)]
    assert beat.activate == 10 * 10400 + 467


def test_the_queue_is_bounded() -> None:
    """A beat is granted when the data of the one `queue` before it has passed."""
    found = Watched(MemoryConfig(8, channels=1, dram=replace(SMALL, trefi=1000)))
    beats = [found.ask(address, False, 0) for address in range(20)]
    for early, late in zip(beats, beats[3:], strict=False):
        assert late.asked == early.data + SMALL.burst


def test_every_beat_has_a_place_of_its_own() -> None:
    for dram in (SMALL, PRESETS["hbm2"].dram):
        for width in (8, dram.burst_bytes, 2 * dram.burst_bytes):
            found = DramChannel(MemoryConfig(width, channels=2, interleave=2, dram=dram))
            first = [address for address in range(4096) if address // 2 % 2 == 0]
            places = defaultdict[tuple[int, int], int](int)
            for address, column in product(first, range(found.columns)):
                places[found.place(address, column)] += 1
            assert set(places.values()) == {dram.row_bytes * found.columns // width}


@pytest.mark.parametrize("columns", [2, 4])
def test_a_wide_beat_takes_its_bursts_in_different_bank_groups(columns: int) -> None:
    """So they follow each other on the bus; a stream of such beats has all of it, though groups pause for longer."""
    dram = replace(channel("hbm2").dram, trefi=1 << 40)
    found = Watched(MemoryConfig(columns * dram.burst_bytes, channels=1, dram=dram))
    assert dram.tccd_l == 2 * dram.burst
    ends = [found.grant(address, False, 0) for address in range(512)]
    assert len(found.beats) == 512 * columns
    for at in range(0, len(found.beats), columns):
        assert len({each.group for each in found.beats[at : at + columns]}) == columns
    assert ends[-1] - ends[256] == 255 * columns * dram.burst
    assert found.granted == 512


def test_clocks_and_cycles() -> None:
    """A beat waits for the next clock of the DRAM, and its data for the next cycle of the fabric."""
    found = Watched(MemoryConfig(8, dram=replace(SMALL, fabric_ps=1000, clock_ps=700)))
    assert [found.clock_of(cycle) for cycle in range(5)] == [0, 2, 3, 5, 6]
    assert [found.cycle_of(clock) for clock in range(5)] == [0, 1, 2, 3, 3]


def test_presets_are_what_their_sources_say() -> None:
    """DDR4-2666 after JESD79-4, in nanoseconds and at least so many clocks."""
    dram = PRESETS["ddr4"].dram
    assert isinstance(dram, Dram)
    nanoseconds = {
        "trcd": (14.25, 1), "trp": (14.25, 1), "tras": (32, 1), "tccd_l": (5, 5), "trrd_s": (3, 4),
        "trrd_l": (4.9, 4), "tfaw": (21, 20), "trtp": (7.5, 4), "twr": (15, 1), "twtr_s": (2.5, 2),
        "twtr_l": (7.5, 4), "trefi": (7800, 1), "trfc": (350, 1),
    }  # fmt: skip
    for name, (least, clocks) in nanoseconds.items():
        assert getattr(dram, name) == max(clocks, -(-int(1000 * least) // 750)), name
    for each in PRESETS.values():
        if each.dram is not None:
            assert each.dram.cwl <= each.dram.cl  # column commands are in the order of their data
