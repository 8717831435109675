# The clock of the fabric, at 100 MHz: set the period that you want, in ns.
create_clock -name clk -period 10.0 [get_ports clk]
