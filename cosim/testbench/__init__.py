"""SystemVerilog benches that any simulator runs, with the data that they play and compare."""
