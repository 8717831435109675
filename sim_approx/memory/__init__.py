"""Memories of the timing model: off-chip channels, DRAM, scratchpads."""
