"""Makes the modules beside the tests importable, which the stand-in fabrics live in."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
