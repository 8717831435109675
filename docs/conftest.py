"""Documents that are no plain doctests; runs in the others wait for the engine of the fast model."""

import os

collect_ignore = ["tutorial.md"]  # it writes files; tests/examples/test_tutorial.py runs it elsewhere

os.environ.setdefault("STEP_BACKGROUND", "0")
