"""Progress of a run while it goes on."""

from __future__ import annotations

import time
from collections.abc import Mapping

from step.host.progress import Progress
from step.language.tokens import Token
from step.lowering.netlist import Netlist
from step.running.interpreter import OnToken

SAID_AFTER = 1.0
"""Seconds from one line of progress to the next one."""


class Telling:
    """Says, once a second, how far a run of ``netlist`` has come and how fast, and tells each token of its sinks, which
    ``outputs`` get, to ``on_token``."""

    def __init__(
        self, progress: Progress, on_token: OnToken | None, netlist: Netlist, outputs: Mapping[str, list[Token]]
    ) -> None:
        self._progress, self._tokens, self._time = progress, 0, time.perf_counter()
        self._on_token, self._outputs = on_token, outputs
        self._told = dict.fromkeys((each.name for each in netlist.units if each.operator.hands_out), 0)

    def told(self, cycle: int, tokens: int) -> None:
        """See `sim_approx.engine.events.Told`."""
        now = time.perf_counter()
        if now - self._time >= SAID_AFTER:
            rate = (tokens - self._tokens) / (now - self._time)
            self._progress(f"cycle {cycle:,}, {rate:,.0f} tokens/s")
            self._tokens, self._time = tokens, now
        self.look()

    def look(self) -> None:
        """Tell of the tokens that left since the last time."""
        if self._on_token is None:
            return
        for name, count in self._told.items():
            for token in self._outputs[name][count:]:
                self._told[name] += 1
                self._on_token(name, token)
