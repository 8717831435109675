"""Streams of small numbers, written and read as text, around one operator or a few."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from raising import raised

from step.errors import TypeMismatch
from step.language.dims import Dim
from step.language.dtypes import INT32, DType
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import Token, parse, show
from step.language.types import ElementType, Selector, Tile
from step.running.interpreter import interpret

NUMBER = Tile(INT32)
"""A 1x1 tile: in texts its only scalar stands for it."""


def here(back: int = 0) -> str:
    """The caller's own line, ``back`` lines before this call (-1: the next), as the errors spell it."""
    frame = inspect.stack()[1]
    path = Path(frame.filename)
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{frame.lineno - back}"


def value_of(number: int, element: ElementType) -> Any:
    """The tile full of ``number``, or the selector with the mask ``number``."""
    if isinstance(element, Selector):
        return number
    assert isinstance(element, Tile)
    return np.full(element.shape, number, element.dtype.numpy)


def play(text: str, element: ElementType = NUMBER) -> list[Token]:
    """The stream of ``element`` that ``text`` says in numbers."""
    return [token._replace(value=value_of(token.value, element)) if token.has_value else token for token in parse(text)]


def plain(value: Any) -> Any:
    """A value as a number where it is one scalar (or a tile of equal ones), else as nested lists."""
    if isinstance(value, tuple):
        return "(" + ",".join(str(plain(each)) for each in value) + ")"
    if isinstance(value, np.ndarray):
        numbers = {float(each) for each in value.reshape(-1)}
        if len(numbers) == 1 and value.dtype != np.bool_:
            (number,) = numbers
            return int(number) if number.is_integer() else number
        return str(value.astype(int).tolist() if value.dtype == np.bool_ else value.tolist()).replace(" ", "")
    return value


def text_of(tokens: Sequence[Token]) -> str:
    """The opposite of `play`."""
    return show(token._replace(value=plain(token.value)) if token.has_value else token for token in tokens)


class Bench:
    """A graph, and what its sources play."""

    def __init__(self, **symbols: bool) -> None:
        """``symbols``: name -> ragged."""
        self.graph = Graph("bench")
        self.inputs: dict[str, Any] = {}
        self.symbols = {name: self.graph.symbol(name, ragged=ragged) for name, ragged in symbols.items()}

    def dims(self, dims: Sequence[Dim | int | str]) -> list[Dim | int]:
        """``dims`` with symbols for texts: declared on first use, ragged behind the first dimension."""
        result: list[Dim | int] = []
        for position, each in enumerate(dims):
            if isinstance(each, str):
                if each not in self.symbols:
                    self.symbols[each] = self.graph.symbol(each, ragged=position > 0)
                each = self.symbols[each]
            result.append(each)
        return result

    def source(self, name: str, text: str, dims: Sequence[Dim | int | str], element: ElementType = NUMBER) -> Stream:
        self.inputs[name] = play(text, element)
        return self.graph.source(name, element, self.dims(dims))

    def tile_source(self, name: str, text: str, dims: Sequence[Dim | int | str], dtype: DType, *shape: int) -> Stream:
        return self.source(name, text, dims, Tile(dtype, *shape))

    def choose(self, name: str, text: str, targets: int, dims: Sequence[Dim | int | str]) -> Stream:
        """A source of selectors; the numbers are masks."""
        return self.source(name, text, dims, Selector(targets))

    def tokens(self, *streams: Stream) -> list[list[Token]]:
        """What the program sends on ``streams``."""
        run = interpret(self.graph, self.inputs, record=True)
        return [run.streams[str(stream)] for stream in streams]

    def texts(self, *streams: Stream) -> list[str]:
        """What the program sends on ``streams``, as text."""
        return [text_of(each) for each in self.tokens(*streams)]

    def text(self, stream: Stream) -> str:
        return self.texts(stream)[0]


def refusal(operator: str, build: Callable[[Bench], Any]) -> str:
    """What ``build`` is refused for, without the places, which are checked to be there."""
    bench = Bench()
    error = raised(TypeMismatch, lambda: build(bench))
    first, *origins = error.split("\n")
    match = re.fullmatch(rf"{operator} '{operator}_\d+' \((\S+)\.py:\d+\): (.*)", first)
    assert match, first
    for port, line in enumerate(origins):
        assert re.fullmatch(rf"  input {port}: \S+: \[.*\] of .*, from \S+\.py:\d+", line), line
    return match[2]


def nested_lists(rank: int) -> st.SearchStrategy[list[Any]]:
    strategy: st.SearchStrategy[Any] = st.integers(0, 3)
    for _ in range(rank + 1):
        strategy = st.lists(strategy, max_size=3)
    return strategy
