"""Measures on RTL how long units take, by micro-programs in which each of them is alone (docs/calibration.md)."""
