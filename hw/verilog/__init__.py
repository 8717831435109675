"""From Amaranth modules to Verilog, and what modules are called."""
