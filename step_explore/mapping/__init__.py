"""The fastest of many programs, each with hardware of its own, within a budget."""
