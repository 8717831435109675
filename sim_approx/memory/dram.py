"""One channel of DRAM: when its banks, its data bus and its refresh let a beat pass (docs/memory.md).

All is integers, in clocks of the DRAM, and follows from the beats that were granted before, in their order: nothing has
to be tried again in a later clock. Beats are moved in the order in which they were granted; their activations and
precharges overlap with the data of those before them.
"""

from __future__ import annotations

from step.lowering.off_chip import MemoryConfig

CLOSED = -1
"""The row of a bank without an open one."""

FOUR = 4


class DramChannel:
    """Banks with open rows, the bounded queue, the data bus, and refresh.

    ``*_from`` is the first clock in which such a command may be: of any bank, of one of a group, or of one bank.
    """

    def __init__(self, config: MemoryConfig) -> None:
        assert config.dram is not None
        self.dram = config.dram
        self.channels, self.interleave = config.channels, config.interleave
        self.columns = config.columns
        self.row_columns = self.dram.row_bytes * self.columns // config.beat_bytes
        banks, groups = self.dram.banks, self.dram.bank_groups
        self.row = [CLOSED] * banks
        self.activate_from, self.precharge_from, self.column_from = [0] * banks, [0] * banks, [0] * banks
        self.any_activate_from, self.group_activate_from = 0, [0] * groups
        self.fourth_activate_from, self.activations = [0] * FOUR, 0
        self.group_column_from = [0] * groups
        self.any_read_from, self.group_read_from = 0, [0] * groups
        self.bus_free, self.bus_writes = 0, False
        self.data_ends, self.granted = [0] * self.dram.queue, 0
        self.refresh_at = self.dram.trefi

    def clock_of(self, cycle: int) -> int:
        """The first clock of the DRAM that is not before ``cycle`` of the fabric."""
        return -(-cycle * self.dram.fabric_ps // self.dram.clock_ps)

    def cycle_of(self, clock: int) -> int:
        """The first cycle of the fabric that is not before ``clock``."""
        return -(-clock * self.dram.clock_ps // self.dram.fabric_ps)

    def place(self, address: int, column: int = 0) -> tuple[int, int]:
        """Bank and row of a beat: ``group_beats`` columns, then groups, the other columns, banks of a group, rows.

        Bits of the row are added to bank and group (permutation-based page interleaving, Zhang et al., MICRO 2000), so
        that streams that are a power of two apart do not all meet in one bank. The columns of a wide
        beat are in bank groups as far apart as there are, so that their commands need not wait for each other.
        """
        dram = self.dram
        inside = address // (self.interleave * self.channels) * self.interleave + address % self.interleave
        inside = inside * self.columns + column
        apart = max(1, dram.bank_groups // self.columns)
        group = inside // max(dram.group_beats, self.columns) + column * apart
        above = inside // (dram.bank_groups * self.row_columns)
        in_group = dram.banks // dram.bank_groups
        row = above // in_group
        mixed = row ^ row // dram.banks ^ row // dram.banks // dram.banks
        group = (group ^ mixed ^ mixed // in_group) % dram.bank_groups
        return (above ^ mixed) % in_group * dram.bank_groups + group, row

    def has_room(self, clock: int) -> bool:
        """Whether fewer than ``queue`` beats are granted whose data did not pass before ``clock``."""
        return self.data_ends[self.granted % self.dram.queue] <= clock

    def refresh(self, clock: int) -> None:
        """The refreshes that are due by ``clock``: each behind all that was granted before, with all banks closed."""
        dram = self.dram
        while self.refresh_at <= clock:
            begin = self.refresh_at
            for bank in range(dram.banks):
                if self.row[bank] == CLOSED:
                    begin = max(begin, self.activate_from[bank])
                else:
                    begin = max(begin, self.precharge_from[bank] + dram.trp)
            for bank in range(dram.banks):
                self.row[bank] = CLOSED
                self.activate_from[bank] = begin + dram.trfc
            self.refresh_at += dram.trefi

    def plan(self, bank: int, row: int, writes: bool, clock: int) -> tuple[int, int]:
        """For a burst that is granted in ``clock``: of its activation (-1: the row is open), and of its first data."""
        dram = self.dram
        group = bank % dram.bank_groups
        activate = -1
        if self.row[bank] == row:
            column = max(clock, self.column_from[bank])
        else:
            if self.row[bank] == CLOSED:
                activate = max(clock, self.activate_from[bank])
            else:
                activate = max(clock, self.precharge_from[bank]) + dram.trp
            activate = max(activate, self.any_activate_from, self.group_activate_from[group])
            activate = max(activate, self.fourth_activate_from[self.activations % FOUR])
            column = activate + dram.trcd
        column = max(column, self.group_column_from[group])
        if writes:
            return activate, max(column + dram.cwl, self.bus_free + (0 if self.bus_writes else dram.turnaround))
        column = max(column, self.any_read_from, self.group_read_from[group])
        return activate, max(column + dram.cl, self.bus_free)

    def grant(self, address: int, writes: bool, clock: int) -> int:
        """Take a beat, which there must be room for; returns the clock in which its data has passed."""
        for column in range(self.columns):
            self.move(*self.place(address, column), writes, clock)
        self.data_ends[self.granted % self.dram.queue] = self.bus_free
        self.granted += 1
        return self.bus_free

    def move(self, bank: int, row: int, writes: bool, clock: int) -> None:
        """The commands of one burst."""
        dram = self.dram
        group = bank % dram.bank_groups
        activate, data = self.plan(bank, row, writes, clock)
        if activate >= 0:
            self.row[bank] = row
            self.column_from[bank] = activate + dram.trcd
            self.precharge_from[bank] = activate + dram.tras
            self.any_activate_from = activate + dram.trrd_s
            self.group_activate_from[group] = activate + dram.trrd_l
            self.fourth_activate_from[self.activations % FOUR] = activate + dram.tfaw
            self.activations += 1
        end = data + dram.burst
        if writes:
            self.group_column_from[group] = data - dram.cwl + dram.tccd_l
            self.any_read_from = end + dram.twtr_s
            self.group_read_from[group] = end + dram.twtr_l
            self.precharge_from[bank] = max(self.precharge_from[bank], end + dram.twr)
        else:
            self.group_column_from[group] = data - dram.cl + dram.tccd_l
            self.precharge_from[bank] = max(self.precharge_from[bank], data - dram.cl + dram.trtp)
        self.bus_free, self.bus_writes = end, writes
