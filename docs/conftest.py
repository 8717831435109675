"""Documents that are no plain doctests."""

collect_ignore = ["tutorial.md"]  # it writes files; tests/examples/test_tutorial.py runs it elsewhere
