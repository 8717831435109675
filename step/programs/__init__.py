"""Programs: a graph with data and a fabric; as files, as pictures, and in numbers that need no run.

`program` first, then `inputs`, `serialize` with `schema`, `drawing` and `metrics`.
"""
