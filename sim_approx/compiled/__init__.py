"""The fast model's engine in C++: firing rules become C++ once, and programs become numbers for it.

`rule` translates, `library` puts all rules into one file, compiles and keeps it. `pack` turns a fabric into numbers,
`engine` runs it. ``cpp`` has the event engine itself. What it computes is what `sim_approx.engine.events` computes, in
every cycle, counter, fault and deadlock.
"""
