"""Streaming tensor programs: the language.

A program is a `Graph` of operators joined by streams of tiles with stop tokens. `interpret` says what it means,
`metrics` what it costs; the other floors turn it into RTL and time it.
"""

from __future__ import annotations

import lazy_loader

# What is exported stands in the stub, and is imported when it is first used: a command needs little of it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
