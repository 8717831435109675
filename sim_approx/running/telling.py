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


class Speed:
    """Says, once a second, how far a run has come and how fast."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._tokens, self._time = progress, 0, time.perf_counter()

    def told(self, cycle: int, tokens: int) -> None:
        """See `sim_approx.engine.events.Told`."""
        now = time.perf_counter()
        if now - self._time >= SAID_AFTER:
            rate = (tokens - self._tokens) / (now - self._time)
            self._progress(f"cycle {cycle:,}, {rate:,.0f} tokens/s")
            self._tokens, self._time = tokens, now


class Leaving:
    """Tells of the tokens that left through sinks, each once."""

    def __init__(self, netlist: Netlist, outputs: Mapping[str, list[Token]], tell: OnToken) -> None:
        self._lists = {node.name: outputs[node.name] for node in netlist.units if node.operator.hands_out}
        self._counts, self._tell = dict.fromkeys(self._lists, 0), tell

    def look(self) -> None:
        """Tell of those that left since the last time."""
        for name, tokens in self._lists.items():
            for token in tokens[self._counts[name] :]:
                self._counts[name] += 1
                self._tell(name, token)
