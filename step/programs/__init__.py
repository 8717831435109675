"""Programs: a graph with data and a fabric; as files, as pictures, and in numbers that need no run.

`program` first, then what it has: input data (`data`), files of programs and graphs (`files`), pictures and words
(`pictures`), `metrics`; `prepare` is what back ends are given.
"""
