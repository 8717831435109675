"""What Figs. 12 and 13 derive from runs: of the compute that is there, and of the bandwidth, how much is used."""

from __future__ import annotations

from collections.abc import Mapping

Row = Mapping[str, str]

BANDWIDTH = 1024
"""Off-chip bytes a cycle."""
EXPERTS, OPERATIONS = 128, 1024


def allocated(row: Row) -> int:
    """Operations a cycle as the paper counts them: five operators a region, one for each expert, and a sum."""
    regions = int(row["point"].split()[1])
    return OPERATIONS * (5 * regions + EXPERTS + 1)


def utilization(row: Row) -> float:
    """The share of these operations that are done. SiLU counts once a scalar, not once per D as in the paper."""
    return int(row["flops"]) / (int(row["cycles"]) * allocated(row))


def bandwidth(row: Row) -> float:
    """The share of off-chip bandwidth that is used."""
    return int(row["off_chip_bytes"]) / (int(row["cycles"]) * BANDWIDTH)
