# Clock of ${name}: ${told}. Delays at ports are a share of the period, for logic outside that is registered.
{% for clock, start, mhz in clocks %}
set ${start}_period ${"%.3f" % (1000 / mhz)}
set ${start}_input_delay [expr {0.3 * $${start}_period}]
set ${start}_output_delay [expr {0.3 * $${start}_period}]
{% endfor %}

{% for clock, start, mhz in clocks %}
create_clock -name ${clock} -period $${start}_period [get_ports ${clock}]
{% endfor %}
{% for way, clock, listed in delays %}

set_${way}_delay -clock ${clock} $${variables[clock]}_${way}_delay [get_ports {
${listed}
}]
{% endfor %}
{% for one, other in crossings %}

set_max_delay [expr {min($step_period, $step_bus_period)}] -from [get_clocks ${one}] -to [get_clocks ${other}]
set_false_path -hold -from [get_clocks ${one}] -to [get_clocks ${other}]
{% endfor %}

# ${names.reset} is synchronous: it has to meet the clock as other inputs do, so it has no false path. Where it comes from another
# clock, a synchroniser outside has the false path.
