"""vcdvcd's reader, without what its import does to the process: from then on a closed pipe would end it, silently."""

from __future__ import annotations

import signal

_before = signal.getsignal(signal.SIGPIPE)

from vcdvcd import VCDVCD  # noqa: E402

signal.signal(signal.SIGPIPE, _before)

__all__ = ["VCDVCD"]
