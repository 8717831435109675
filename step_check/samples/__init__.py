"""Samples: small well-typed pieces of programs, of which every operator and function brings its own.

An operator's file in `step.ops` has ``sample(draft)``, which adds the operator once to a
`step.language.draft.Draft`; a function has `step.language.function.Function.sample`. The fuzzer, calibration and
the benchmark of unit rates read these, so none of them lists operators or functions.
"""
