"""Running programs: the `interpreter`, the `result` that every back end gives, the report of a `deadlock`, back ends by
name (`backend`), and the values of symbols (`binding`)."""
