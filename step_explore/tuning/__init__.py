"""A program's parameters are chosen under a budget, with hardware fitted to each choice."""
