"""A program as a board: a folder for FPGA tools and systems on chip, and drivers."""
