"""Streaming tensor programs: the language, and the front door of the toolkit.

A program is a `Graph` of operators joined by streams of tiles with stop tokens. `interpret` says what it means,
`metrics` what it costs; `run` times it and simulates its RTL.
"""

from __future__ import annotations

from step.host.lazy import exports

# What is exported stands in the stub, and is imported when it is first used: a command needs little of it.
__getattr__, __dir__, __all__ = exports(__name__, __file__)
