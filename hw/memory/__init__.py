"""Memories on and off the chip: ports, loads, scratchpads and their shares."""
