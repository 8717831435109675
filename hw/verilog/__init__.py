"""From Amaranth modules to Verilog files, and the sidecar that describes them."""
