"""A fabric as numbers, in the order in which ``cpp/reader.hpp`` reads them.

Integers >= 0 stand for themselves, and for an object stands the complement of its place.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

import numpy as np

from sim_approx.compiled.rule import LARGEST
from sim_approx.engine.events import Watch
from sim_approx.engine.words import unknown
from sim_approx.memory.channels import OffChipMemory
from sim_approx.placing.site import PlacedFabric
from step.firing import terms as fields
from step.firing.item import RowsOf
from step.firing.machine import Machine, Unread
from step.firing.terms import Kind
from step.firing.words import number, targets_in
from step.language.faults import Violation, rows_of
from step.language.loops import SHORT, RegularStream, Stops, Walk
from step.language.tokens import NOTHING, UNKNOWN, Token

NOTHING_THERE = -(1 << 63)
"""Where there is no value, or no integer."""

ERROR = -1
"""The code of an exception, where others are faults."""


def mask_piece(mask: int, piece: int) -> int:
    """32 bits of a mask."""
    return mask >> 32 * piece & 0xFFFFFFFF


CALLED = number, mask_piece, partial(operator.lshift, 1), rows_of, targets_in, operator.neg
"""Functions that the engine itself calls; the third gives the selector of a port."""


class Handles:
    """The objects and functions that a run handles.

    The first objects are those that rules name, `UNKNOWN` (-1) among them; the first functions are `CALLED`. ``error``
    is what a function raised, which ends the run. A `Violation` does not: it is a fault of the unit.
    """

    def __init__(self, named: Sequence[Any]) -> None:
        self.objects: list[Any] = []
        self._places: dict[int, int] = {}
        self._integers: dict[int, int] = {}
        self._functions: list[Callable[..., Any]] = [*CALLED]
        self._last: dict[int, tuple[list[int], int]] = {}
        self.error: BaseException | None = None
        for each in named:
            self.number(each)

    def keep(self) -> None:
        """Keep the objects that are there by now in every run."""
        self._kept = len(self.objects)

    def forget(self) -> None:
        """Keep no other objects, and no results of functions."""
        self._last.clear()
        self.error = None
        for each in self.objects[self._kept :]:
            del self._places[id(each)]
        del self.objects[self._kept :]

    def number(self, value: Any) -> int:
        """The number of ``value``; objects are the same if they are one object, or equal integers."""
        if type(value) is int:
            if 0 <= value < LARGEST:
                return value
            value = self._integers.setdefault(value, value)  # selectors of many targets come again and again
        if value is NOTHING:
            return NOTHING_THERE
        place = self._places.setdefault(id(value), len(self.objects))
        if place == len(self.objects):
            self.objects.append(value)
        return ~place

    def value(self, number: int) -> Any:
        """The value of ``number``."""
        if number >= 0:
            return number
        return NOTHING if number == NOTHING_THERE else self.objects[~number]

    def words(self, token: Token | None) -> tuple[int, int, int, int]:
        """A token, or none, as C++ reads it."""
        if token is None:
            return NOTHING_THERE, 0, 0, 0
        return self.number(token.value), token.stop, token.rank, token.done | 2

    def token(self, words: Iterable[int]) -> Token | None:
        """The opposite of `words`."""
        value, stop, rank, state = words
        return Token(self.value(value), stop, rank, bool(state & 1)) if state & 2 else None

    def function(self, function: Callable[..., Any]) -> int:
        """The number by which C++ calls ``function``; < 0: it needs not, as nobody wants more than rows."""
        if function is unknown:
            return -1
        if isinstance(function, RowsOf) and max(function.of, default=0) < 32:  # a bit for each in `Engine::apply`
            return -2 - (sum(1 << place for place in function.of) | function.more << 32)
        self._functions.append(function)
        return len(self._functions) - 1

    def call(self, function: int, count: int, arguments: Any, code: Any) -> int:
        """Function ``function`` of values by their numbers; the last result of each is kept, as rules ask again."""
        numbers = arguments[:count]
        last = self._last.get(function)
        if last is not None and last[0] == numbers:
            return last[1]
        try:
            result = self.number(self._functions[function](*map(self.value, numbers)))
        except Violation as violation:
            code[0] = violation.fault
            return 0
        except BaseException as error:
            self.error = error
            code[0] = ERROR
            return 0
        self._last[function] = numbers, result
        return result


MEMORY = -1
WATCHED, LOGGED, COUNTS_ROWS = 1, 2, 4
MASK_WORD = (1 << 64) - 1
LISTED, WALK, STOPS = 0, 1, 2
"""How integers are given."""
LOOPS = -1
"""Instead of the number of tokens: that of loops."""


def _ints(entries: Sequence[int]) -> Sequence[int]:
    """A list as its entries, loops as what they are made of."""
    match entries:
        case Walk():
            walk = entries.joined()
            return WALK, len(walk), len(walk.extents), *walk.extents, *walk.strides, walk.offset
        case Stops(extents=extents, most=most) if len(entries) > SHORT:
            return STOPS, len(entries), len(extents), *extents, most
    return array("q", (LISTED, len(entries), *entries))


def _place(shared: Handles, part: Any) -> Sequence[int]:
    """The place of a ``part`` that machines share; -1: there is none."""
    return (-1 if part is None else ~shared.number(part),)


@dataclass(frozen=True)
class MachineLayout:
    """The form in which a machine travels: its number, its own ``fields`` in order, and those that come ``back``."""

    number: int
    fields: dict[str, Kind]
    back: dict[str, Kind]


class Packed:
    """``fabric`` as it begins, for any number of runs.

    ``mask_words``: so many 64-bit words has a set of ports. Tokens that leave the program are kept if ``outputs``.
    Capacities of channels, and the memory, may be others in each run. Tokens of outputs, tiles, and integers go to
    ``token_notes``, ``tiles`` and ``int_notes``; ``changed`` has what tiles were before: list, place and value.
    """

    def __init__(
        self,
        fabric: PlacedFabric,
        layouts: Mapping[type[Machine], MachineLayout],
        handles: Handles,
        *,
        mask_words: int,
        outputs: bool,
        watch: Watch,
    ) -> None:
        self._handles, self._layouts = handles, layouts
        machines, channels = fabric.machines, fabric.all_channels
        self._memory, self._mask_words = fabric.memory, mask_words
        kinds = fields.BANKS, fields.BUFFERS, fields.TILES, fields.TOKEN_NOTES, fields.INT_NOTES
        self._shared = {kind: Handles(()) for kind in kinds}
        """Objects that several machines have together, by the order in which they were met."""
        unread = [each for machine in machines for each in machine.outputs if isinstance(each, Unread)]
        every = self._every = [*channels, *unread]
        self._index = {id(each): place for place, each in enumerate(every)}
        self._pack: dict[Kind, Callable[[Any], Sequence[int]]] = {
            fields.INT: lambda value: (NOTHING_THERE if value is None else value,),
            fields.BOOL: lambda value: (int(value),),
            fields.MASK: self._mask,
            fields.TOKEN: handles.words,
            fields.VALUE: lambda value: (handles.number(value),),
            fields.CHANNEL: lambda value: (self._index[id(value)],),
            fields.CHANNELS: lambda value: (len(value), *(self._index[id(each)] for each in value)),
            fields.INTS: _ints,
            fields.PAIRS: lambda value: (len(value), *(each for pair in value for each in pair)),
            fields.TOKENS: self._tokens,
            fields.STREAM: self._stream,
            fields.FUNCTION: lambda value: (handles.function(value),),
            **{kind: partial(_place, shared) for kind, shared in self._shared.items()},
        }
        packed = array("q", [len(machines)])
        for machine in machines:
            if machine is not fabric.memory:  # which is behind all others
                packed.extend(self._machine(machine))
        head = array("q", [len(channels), len(every)])
        self._places: list[int] = []
        """Of each channel, where its space stands; its flags, its lag and its hops are the next numbers."""
        filled = []
        for channel in every:
            self._places.append(len(head) + 1)
            filled.append(len(channel.tokens))
            gathering = (0, 0, 0) if channel.gathering is None else astuple(channel.gathering)
            watcher = watch.get(channel)
            flags = 0 if watcher is None else WATCHED | COUNTS_ROWS * watcher.rows
            head.extend((channel.index, 0, flags, 0, channel.hops, channel.addresses, *gathering))
            head.extend(self._tokens(channel.tokens))
        self._filled = np.array(filled, np.int64)
        banks, buffers, self.tiles, self.token_notes, self.int_notes = (each.objects for each in self._shared.values())
        head.extend((len(banks), *(each.count for each in banks), len(buffers), len(self.tiles)))
        for tiles in self.tiles:
            wanted = any(each is not UNKNOWN for each in tiles)
            head.extend((len(tiles), handles.function(tiles.__getitem__) if wanted else -1))
        head.extend((len(self.token_notes), *[int(outputs)] * len(self.token_notes), len(self.int_notes)))
        self._numbers = np.frombuffer(head + packed, np.int64)
        self.changed: list[tuple[MutableSequence[Any], int, Any]] = []
        handles.keep()

    def numbers(self, *, logged: bool, recorded: bool = False) -> np.ndarray:
        """Numbers that a run begins with, with the channels and the memory as they are now; what the last one left is
        forgotten.

        ``logged``: what passes the channels of the program is kept; ``recorded``: who put and took it, in all of them.
        """
        self._handles.forget()
        for notes in (*self.token_notes, *self.int_notes):
            notes.clear()
        for tiles, place, value in self.changed:
            tiles[place] = value
        self.changed.clear()
        memory = [] if self._memory is None else self._of_memory(self._memory)
        numbers = np.concatenate((self._numbers, np.array(memory, np.int64)))
        places = np.array(self._places)
        numbers[places] = np.array([each.capacity for each in self._every], np.int64) - self._filled
        numbers[places + 1] |= [LOGGED * (recorded or (logged and each.index >= 0)) for each in self._every]
        numbers[places + 2] = [each.lag for each in self._every]
        return numbers

    def _mask(self, mask: int) -> list[int]:
        words = [mask >> 64 * place & MASK_WORD for place in range(self._mask_words)]
        return [word - (1 << 64) if word >> 63 else word for word in words]

    def _tokens(self, tokens: Sequence[Token]) -> Sequence[int]:
        words = array("q", [len(tokens)])
        for token in tokens:
            words.extend(self._handles.words(token))
        return words

    def _stream(self, tokens: Sequence[Token]) -> Sequence[int]:
        if not isinstance(tokens, RegularStream):
            return self._tokens(tokens)
        words = array("q", (LOOPS, *_ints(tokens.stops), tokens.values is not None))
        if tokens.values is not None:
            words.extend(map(self._handles.number, tokens.values))
        return words

    def _base(self, machine: Machine) -> list[int]:
        channels = self._pack[fields.CHANNELS]
        sizes = machine.sizes
        base = [*channels(machine.inputs), *channels(machine.outputs), machine.latency, machine.interval]
        base += [int(machine.ends_run), int(machine.contends), machine.burst, int(sizes is not None)]
        if sizes is None:
            return base
        inside = [-1] * (len(machine.outputs) - len(machine.sized))  # outputs of the unit come first
        return [*base, self._handles.function(lambda rows, place: sizes(rows)[place]), *machine.sized, *inside]

    def _machine(self, machine: Machine) -> list[int]:
        layout = self._layouts[type(machine)]
        own = [word for name, kind in layout.fields.items() for word in self._pack[kind](getattr(machine, name))]
        return [layout.number, *self._base(machine), *own]

    def _of_memory(self, memory: OffChipMemory) -> list[int]:
        config, ports = memory.config, memory.ports
        packed = [MEMORY, *self._base(memory), config.interval, config.interleave, config.channels]
        packed += [1 if config.bus is None else config.bus.burst_beats(config.beat_bytes), len(ports)]
        for port in ports:
            arrives = -1 if port.arrives is None else self._index[id(port.arrives)]
            packed += [self._index[id(port.asks)], arrives, port.beats, int(port.writes)]
        packed += self._pack[fields.CHANNELS](memory.before)
        if config.dram is None:
            return [*packed, 0]
        return [*packed, config.beat_bytes, *astuple(config.dram)]
