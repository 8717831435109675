"""A second reader of waves: vcdvcd, without what it does to the process that imports it."""

from __future__ import annotations

import signal

_ON_A_CLOSED_PIPE = signal.getsignal(signal.SIGPIPE)

from vcdvcd import VCDVCD as VCDVCD  # noqa: E402

signal.signal(signal.SIGPIPE, _ON_A_CLOSED_PIPE)  # else a write to a process that has ended kills this one
