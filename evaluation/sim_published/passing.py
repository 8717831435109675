"""Operators that take no time of their own: they pass elements on as their meaning says, a hop later each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite, as_value
from step.language.operator import Surroundings
from step.language.tokens import Token


@dataclass
class Around(Surroundings):
    """Gathers what a process emits while it handles one element."""

    emitted: list[tuple[int, Token]]
    given: Sequence[Token]

    def emit(self, port: int, token: Token) -> None:
        self.emitted.append((port, token))

    def collect(self, token: Token) -> None:
        """An output that is of no interest here."""

    def tiles(self) -> Any:
        raise NotImplementedError

    def stream(self) -> Any:
        return self.given

    def port(self) -> int:
        raise NotImplementedError

    def arrivals(self) -> Sequence[int]:
        return ()


def passing(site: ContextSite, context: Context, see: Callable[[Token], Token] | None = None, apart: int = 0) -> Wait:
    """Dequeue what the operator's own process asks for, and send what it emits, at the local time.

    ``see`` changes the values that are sent. A value that is sent takes ``apart`` cycles.
    """
    around = Around([], site.given)
    meaning = site.node.operator.process(site.node, around)
    elements = [each.element for each in site.node.output_types]
    answer: Token | None = None
    while True:
        try:
            wanted = next(meaning) if answer is None else meaning.send(answer)
        except StopIteration:
            wanted = None
        for port, token in around.emitted:
            output = site.outputs[port]
            if token.has_value:
                token = token if see is None else see(token)
                token = token._replace(value=as_value(token.value, elements[port]))
                context.time += apart
            yield from context.send(output, token)
        around.emitted.clear()
        if wanted is None:
            return
        assert isinstance(wanted, int)
        answer = yield from context.take(site.inputs[wanted])
