"""DRAM behind the fabric's ports: its timings, and presets with their sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from step.errors import FabricError
from step.language.arguments import Checked
from step.language.parameters import Within, settle_parameters

Positive = Annotated[int, Within(1, 1 << 40)]
Power = Annotated[int, Within(1, 1 << 40, power=True)]


@dataclass(frozen=True)
class Dram(metaclass=Checked):
    """The DRAM of every memory channel; times have the names of JEDEC and are in clocks of the DRAM.

    ``fabric_ps``: a cycle of the fabric in picoseconds, ``clock_ps``: a clock of the DRAM (tCK).
    ``banks`` of a channel, in ``bank_groups``; a bank has one row of ``row_bytes`` open. ``group_beats`` consecutive
    beats of a channel are in one bank group, the next ones in the next one.
    ``burst_bytes`` are moved by one column command, in ``burst`` clocks of the data bus. A wider beat takes several,
    in different bank groups; ``group_beats`` then counts these bursts.
    ``cl``, ``cwl``: from a read or write command to its data. ``trcd``: from an activation to a column command;
    ``trp``: from a precharge to an activation; ``tras``: from an activation to a precharge.
    ``tccd_l``: between column commands of a bank group; those of others follow as soon as the data bus is free.
    ``trrd_s``, ``trrd_l``: between activations, and between those of a bank group; ``tfaw``: four of them take so long.
    ``trtp``: from a read command to a precharge; ``twr``: from the end of written data to a precharge.
    ``twtr_s``, ``twtr_l``: from the end of written data to a read command, and to one in the same bank group.
    ``turnaround``: clocks in which the data bus rests between read data and written data.
    ``trefi``: between refreshes, each of all banks, which takes ``trfc``.
    ``queue``: beats of a channel that are granted and whose data did not pass yet, at most.
    ``out_of_turn``: how many beats in a row are granted because they are ready first, and not in turn.
    """

    refused: ClassVar = FabricError
    group: ClassVar = "memory.dram."

    fabric_ps: Positive
    clock_ps: Positive
    banks: Power
    bank_groups: Power
    row_bytes: Power
    group_beats: Power
    burst_bytes: Power
    burst: Positive
    cl: Positive
    cwl: Positive
    trcd: Positive
    trp: Positive
    tras: Positive
    tccd_l: Positive
    trrd_s: Positive
    trrd_l: Positive
    tfaw: Positive
    trtp: Positive
    twr: Positive
    twtr_s: Positive
    twtr_l: Positive
    turnaround: Positive
    trefi: Positive
    trfc: Positive
    queue: Positive
    out_of_turn: Positive

    def __post_init__(self) -> None:
        settle_parameters(self)
        if self.bank_groups > self.banks:
            raise FabricError(f"memory.dram.bank_groups must be at most banks = {self.banks}, not {self.bank_groups}")
        if self.trefi <= self.trfc + self.trp:
            least = self.trfc + self.trp
            raise FabricError(f"memory.dram.trefi must be more than trfc + trp = {least}, not {self.trefi}")


@dataclass(frozen=True)
class Preset:
    """A kind of memory: its ``channels``, and its DRAM; None is the plain memory without banks."""

    channels: Positive
    dram: Dram | None


PRESETS = {
    "plain": Preset(channels=8, dram=None),
    # One HBM2 stack at 2 Gb/s a pin: 8 channels of 128 bits (JESD235), 256 GB/s. A channel is its two pseudo channels
    # in step: BL4 is 2 x 32 bytes in 2 clocks, a row 2 x 1 KiB, 4 groups of 4 banks. JESD235 leaves the times of the
    # array to the vendor: these are those of DRAMsim3's HBM2_8Gb_x128.ini (commit 2981759); tREFI = 3.9 us and
    # tRFC = 260 ns are also those of AMD PG276 ("Raw Throughput Evaluation", 4H). tCCD_L is twice the burst (JESD235).
    "hbm2": Preset(
        channels=8,
        dram=Dram(
            fabric_ps=1000, clock_ps=1000, banks=16, bank_groups=4, row_bytes=2048, group_beats=8, burst_bytes=64,
            burst=2, cl=14, cwl=4, trcd=14, trp=14, tras=34, tccd_l=4, trrd_s=4, trrd_l=6, tfaw=30,
            trtp=6, twr=16, twtr_s=6, twtr_l=8, turnaround=2, trefi=3900, trfc=260, queue=32, out_of_turn=32,
        ),
    ),
    # The memory of the published validation: 8 channels of Ramulator 2's HBM2 with the organisation HBM2_2Gb and the
    # times HBM2_2Gbps (step-artifact-eval, commit c730e14: bluespec/ramulator2/hbm.yaml, src/dram/impl/HBM2.cpp). A
    # channel is its two pseudo channels in step: nBL = 4 of each is two clocks of both, 64 columns of 2 x 64 bits are a
    # row. Write commands are nCL + nBL + 2 - nCWL behind those that read. 256 GB/s, refresh leaves 95.9 %.
    "hbm2_2gb": Preset(
        channels=8,
        dram=Dram(
            fabric_ps=1000, clock_ps=1000, banks=8, bank_groups=4, row_bytes=1024, group_beats=8, burst_bytes=64,
            burst=2, cl=7, cwl=2, trcd=7, trp=7, tras=17, tccd_l=2, trrd_s=2, trrd_l=3, tfaw=15,
            trtp=3, twr=8, twtr_s=3, twtr_l=4, turnaround=2, trefi=3900, trfc=160, queue=32, out_of_turn=32,
        ),
    ),
    # One channel of DDR4-2666 (19-19-19), one rank of eight 8 Gb x8 devices: 64 bits, BL8, 21.3 GB/s. Micron's 8Gb DDR4
    # data sheet (MT40A1G8, -075) after JESD79-4, rounded up to clocks of 0.75 ns: tRCD, tRP 14.25 ns; tRAS 32 ns;
    # tCCD_L 5 ns; tRRD_S 3 ns, tRRD_L 4.9 ns, tFAW 21 ns (1 KiB page); tRTP 7.5 ns; tWR 15 ns; tWTR_S 2.5 ns,
    # tWTR_L 7.5 ns; tREFI 7.8 us, tRFC1 350 ns; CL 19, CWL 14. Between read and written data rests a preamble of two.
    "ddr4": Preset(
        channels=1,
        dram=Dram(
            fabric_ps=1000, clock_ps=750, banks=16, bank_groups=4, row_bytes=8192, group_beats=2, burst_bytes=64,
            burst=4, cl=19, cwl=14, trcd=19, trp=19, tras=43, tccd_l=7, trrd_s=4, trrd_l=7, tfaw=28,
            trtp=10, twr=20, twtr_s=4, twtr_l=10, turnaround=2, trefi=10400, trfc=467, queue=32, out_of_turn=32,
        ),
    ),
    # One HBM3 stack at 6.4 Gb/s a pin: 16 channels of 64 bits (JESD238), 819 GB/s. A channel is its two pseudo channels
    # in step: BL8 is 2 x 32 bytes in 2 clocks of CK (1.6 GHz), a row 2 x 1 KiB, 4 groups of 4 banks. What the standard
    # leaves to the vendor are the times of the array of hbm2 in nanoseconds, rounded up; tRFC = 350 ns is of 16 Gb.
    "hbm3": Preset(
        channels=16,
        dram=Dram(
            fabric_ps=1000, clock_ps=625, banks=16, bank_groups=4, row_bytes=2048, group_beats=8, burst_bytes=64,
            burst=2, cl=23, cwl=7, trcd=23, trp=23, tras=55, tccd_l=4, trrd_s=7, trrd_l=10, tfaw=48,
            trtp=10, twr=26, twtr_s=10, twtr_l=13, turnaround=2, trefi=6240, trfc=560, queue=32, out_of_turn=32,
        ),
    ),
    # One HBM3E stack at 9.2 Gb/s a pin, 1,178 GB/s: hbm3 with a clock of 2.3 GHz and the same times.
    "hbm3e": Preset(
        channels=16,
        dram=Dram(
            fabric_ps=1000, clock_ps=435, banks=16, bank_groups=4, row_bytes=2048, group_beats=8, burst_bytes=64,
            burst=2, cl=33, cwl=10, trcd=33, trp=33, tras=79, tccd_l=4, trrd_s=10, trrd_l=14, tfaw=69,
            trtp=14, twr=37, twtr_s=14, twtr_l=19, turnaround=2, trefi=8966, trfc=805, queue=32, out_of_turn=32,
        ),
    ),
}  # fmt: skip
"""Kinds of memory by name."""


def preset(name: str) -> Preset:
    """The preset of a name; raises `FabricError` for names that there are not."""
    if name not in PRESETS:
        raise FabricError(f"memory must be one of {', '.join(PRESETS)}, not {name!r}")
    return PRESETS[name]
