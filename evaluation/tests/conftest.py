"""For the tests of the evaluation: runs wait for the engine of the fast model, as those of the toolkit's tests do."""

import os

os.environ.setdefault("STEP_BACKGROUND", "0")
