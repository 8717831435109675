"""Numbers that Figs. 12 and 13 derive from runs: the used parts of the compute that is there, and of the bandwidth."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.published.show.multiplexing import allocated

Row = Mapping[str, str]

BANDWIDTH = 1024
"""Off-chip bytes a cycle."""
FEW, ALL = 32, 128
"""Regions that are compared: shared ones, and one for each expert."""


def utilization(row: Row) -> float:
    """The share of the possible operations that were done. SiLU counts once a scalar, not once per D."""
    return int(row["flops"]) / (int(row["cycles"]) * allocated(int(row["point"].split()[1])))


def bandwidth(row: Row) -> float:
    """The share of off-chip bandwidth that is used."""
    return int(row["off_chip_bytes"]) / (int(row["cycles"]) * BANDWIDTH)
