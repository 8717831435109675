"""Hardware out of firing rules: the third reader of `step.firing`, beside the two engines of the timing model.

A rule is executed once, on symbols (`execution`): both arms of an ``if`` are followed, and multiplexers join them.
Numbers are expressions with ranges (`numbers`), a path knows more of them than the rule as a whole (`facts`), and
of a value only the way is known (`values`), which must be one that words can take (`holding`, `pace`). What comes out
is said to a `hw.firing.machine.Firing` (`writing`, `moving`).
"""
