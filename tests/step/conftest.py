"""Makes the modules beside the tests importable: `running` and, one folder up, `scenarios`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
