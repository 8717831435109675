"""Registers of a board, which start programs and tell how they went."""
