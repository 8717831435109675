# Clock of ${name}: ${mhz} MHz. Delays at ports are a share of the period, for logic outside that is registered.
set step_period ${period}
set step_input_delay [expr {0.3 * $step_period}]
set step_output_delay [expr {0.3 * $step_period}]

create_clock -name clk -period $step_period [get_ports clk]

set_input_delay -clock clk $step_input_delay [filter [all_inputs] {NAME != "clk"}]
set_output_delay -clock clk $step_output_delay [all_outputs]

# rst is synchronous: it has to meet the clock as other inputs do, so it has no false path. Where it comes from another
# clock, a synchroniser outside has the false path.

# ${masters} of ${bits} bits.

# A wrapper with a clock of its own for the buses (own_clock) has asynchronous FIFOs, whose pointers are Gray codes:
# they must not be skewed by more than a period of either clock. With bus_clk as the other clock:
#   set_max_delay -datapath_only -from [get_clocks clk] -to [get_clocks bus_clk] $step_period
#   set_max_delay -datapath_only -from [get_clocks bus_clk] -to [get_clocks clk] $step_period
