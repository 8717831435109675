"""Cycles of a run explained: what every firing waited for, and what follows from that (docs/explain.md)."""
