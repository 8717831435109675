"""Placement of the units of a program on a grid, where distance is hops of its channels."""
