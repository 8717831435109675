# Clock of <name>: <mhz> MHz. Delays at ports are a share of the period, for logic outside that is registered.
set step_period <period>
set step_input_delay [expr {0.3 * $step_period}]
set step_output_delay [expr {0.3 * $step_period}]
<delays>

# rst is synchronous: it has to meet the clock as other inputs do, so it has no false path. Where it comes from another
# clock, a synchroniser outside has the false path.
