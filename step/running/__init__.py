"""Running programs: the `interpreter`, the `result` that every back end gives, what is told of faults (`stream_fault`),
broken `promises` and a `deadlock`, back ends by name (`backend`), and the values of symbols (`binding`)."""
