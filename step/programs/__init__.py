"""Programs: a graph with data and a fabric; as files, as pictures, and in numbers that need no run.

`program` first. Data: `inputs` (with `streams`, `selectors`, `tensors`, `scalars` and `spellings`) and `npz`. Graphs as
files: `serialize` (with `expression`) and `schema`. Then `outline`, pictures (`drawing` with `boxes` and `layered`) and
`metrics`.
"""
