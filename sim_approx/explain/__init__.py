"""Where the cycles of a run went: what every firing waited for, and what follows from that (docs/explain.md)."""
