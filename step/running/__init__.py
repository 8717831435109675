"""Running programs: the `interpreter`, the `result` that every back end gives, what is told of data that breaks
`contracts` and of a `deadlock`, and back ends by name with their options (`backend`)."""
