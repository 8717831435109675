"""The Verilog of a program, and the files beside it."""
