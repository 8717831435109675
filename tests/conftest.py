"""For all tests: Ctrl-C and hang-ups are there, also where they were started with them ignored (``&``, ``nohup``)."""

from __future__ import annotations

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
