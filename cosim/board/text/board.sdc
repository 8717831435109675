# Clock of ${name}: ${mhz} MHz. Delays at ports are a share of the period, for logic outside that is registered.
set step_period ${period}
set step_input_delay [expr {0.3 * $step_period}]
set step_output_delay [expr {0.3 * $step_period}]

{% for clock in clocks %}
create_clock -name ${clock} -period $step_period [get_ports ${clock}]
{% endfor %}
{% for way, clock, names in delays %}

set_${way}_delay -clock ${clock} $step_${way}_delay [get_ports {
${names}
}]
{% endfor %}
{% for one, other in crossings %}

set_max_delay $step_period -from [get_clocks ${one}] -to [get_clocks ${other}]
set_false_path -hold -from [get_clocks ${one}] -to [get_clocks ${other}]
{% endfor %}

# rst is synchronous: it has to meet the clock as other inputs do, so it has no false path. Where it comes from another
# clock, a synchroniser outside has the false path.
