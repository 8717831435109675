# Clock of ${name}: ${told}. Delays at ports are a share of the period, for logic outside that is registered.
{% for clock, start, mhz in clocks %}
set ${start}_period ${"%.3f" % (1000 / mhz)}
set ${start}_input_delay [expr {0.3 * $${start}_period}]
set ${start}_output_delay [expr {0.3 * $${start}_period}]
{% endfor %}

{% for clock, start, mhz in clocks %}
create_clock -name ${clock} -period $${start}_period [get_ports ${clock}]
{% endfor %}

{% if of_buses %}
set of_buses [get_ports {${names.bus_reset} m_axi*}]
set others [filter [all_inputs] {NAME != "${names.clock}" && NAME != "${names.bus_clock}" && NAME != "${names.bus_reset}" && NAME !~ "m_axi*"}]
set_input_delay -clock ${names.clock} $step_input_delay $others
set_output_delay -clock ${names.clock} $step_output_delay [filter [all_outputs] {NAME !~ "m_axi*"}]
set_input_delay -clock ${names.bus_clock} $step_bus_input_delay [filter $of_buses {DIRECTION == IN}]
set_output_delay -clock ${names.bus_clock} $step_bus_output_delay [filter $of_buses {DIRECTION == OUT}]
{% else %}
set_input_delay -clock ${names.clock} $step_input_delay [filter [all_inputs] {NAME != "${names.clock}"}]
set_output_delay -clock ${names.clock} $step_output_delay [all_outputs]
{% endif %}

# ${names.reset} is synchronous: it has to meet the clock as other inputs do, so it has no false path. Where it comes from another
# clock, a synchroniser outside has the false path.

# ${masters} of ${bits} bits.

{% if of_buses %}
# The buses cross to their clock by asynchronous FIFOs, whose pointers are Gray codes: they must not be skewed by more
# than a period of either clock.
set step_crossing [expr {min($step_period, $step_bus_period)}]
{% for one, other in crossings %}
set_max_delay -datapath_only -from [get_clocks ${one}] -to [get_clocks ${other}] $step_crossing
{% endfor %}
{% else %}
# A wrapper with a clock of its own for the buses (own_clock) has asynchronous FIFOs, whose pointers are Gray codes:
# they must not be skewed by more than a period of either clock. With bus_clk as the other clock:
#   set_max_delay -datapath_only -from [get_clocks clk] -to [get_clocks bus_clk] $step_period
#   set_max_delay -datapath_only -from [get_clocks bus_clk] -to [get_clocks clk] $step_period
{% endif %}
