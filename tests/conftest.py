"""For all tests: Ctrl-C is there, also where they were started with it ignored, as shells do behind an ``&``."""

from __future__ import annotations

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
