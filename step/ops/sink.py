"""Sink: a stream that leaves the fabric."""

from __future__ import annotations

from dataclasses import dataclass

from step.language.draft import Draft
from step.language.expecting import only
from step.language.operator import Names, Operator, Placed, Process, StreamType, Surroundings
from step.language.stream import Stream, stream_method


@dataclass(frozen=True)
class Sink(Operator):
    """Takes one token a cycle; the stream is an output of the program, under the node's name.

    >>> graph = Graph("sink")
    >>> x = graph.source("x", Tile(FP32), [3])
    >>> x.sink("y")
    """

    output_names = ()
    ends_run = True
    hands_out = True

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        only(inputs, "sink takes")
        return ()

    def process(self, node: Placed, around: Surroundings) -> Process:
        while not (token := (yield 0)).done:
            around.collect(token)


@stream_method
def sink(stream: Stream, name: str) -> None:
    """Make the stream an output of the program."""
    stream.graph.add(Sink(), [stream], name=name)


WEIGHT = 1


def sample(draft: Draft) -> None:
    """An output, of anything."""
    if piece := draft.pick():
        draft.read(piece).sink(draft.name("y"))
