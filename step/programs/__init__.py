"""Programs: a graph with data and a fabric; as files, as pictures, and in numbers that need no run.

`program` first. Data: `given`, `inputs` (with `selectors` and `scalars`) and `npz`. Graphs as files: `serialize` (with
`expression`) and `json_file`. Then `outline`, pictures (`drawing` with `layered`), `tables` and `metrics`.
"""
