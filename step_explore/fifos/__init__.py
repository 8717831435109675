"""Depths of the FIFOs of a program, found by running it on the data that is given."""
