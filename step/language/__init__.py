"""The language: what a stream is, what operators and functions say of themselves, and the graph that they make.

To be read in this order: `dims`, `dtypes`, `types`, `tokens`, `numerics`, `function`, `faults`, `operator`, `stream`,
`graph`; then what is asked of a whole graph, `validate`, and of a stream that was run, `checker` and `symbols`. The
operators themselves are in `step.ops`, the functions in `step.functions`.
"""
