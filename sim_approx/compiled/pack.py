"""A fabric as numbers, in the order in which ``cpp/reader.hpp`` reads them, and back.

Integers >= 0 stand for themselves, and for an object stands the complement of its place.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from sim_approx.compiled.handles import NOTHING_THERE, Handles
from sim_approx.compiled.library import MachineLayout
from sim_approx.engine.events import Watch
from sim_approx.memory.channels import OffChipMemory
from step.firing import terms as fields
from step.firing.machine import Channel, Machine, Sizes, Unread
from step.firing.terms import Kind
from step.language.loops import RegularStream, Stops, Walk
from step.language.tokens import UNKNOWN, Token

MEMORY = -1
WATCHED, LOGGED, COUNTS_ROWS = 1, 2, 4
WORD = (1 << 64) - 1
LISTED, WALK, STOPS = 0, 1, 2
"""How integers are given."""
LOOPS = -1
"""Instead of the number of tokens: that of loops."""


def ints(entries: Sequence[int]) -> Sequence[int]:
    """A list as its entries, loops as what they are made of."""
    match entries:
        case Walk():
            walk = entries.joined()
            return WALK, len(walk), len(walk.extents), *walk.extents, *walk.strides, walk.offset
        case Stops(extents=extents, most=most):
            return STOPS, len(entries), len(extents), *extents, most
    return array("q", (LISTED, len(entries), *entries))


def pace_part(sizes: Sizes) -> Callable[[int, int], int]:
    """The parts of a `Pace` by the number of rows, one by one."""

    def part(rows: int, place: int) -> int:
        return sizes(rows)[place]

    return part


class _Parts:
    """Objects that several machines share, by the order in which they were met."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self._places: dict[int, int] = {}

    def place(self, part: Any) -> tuple[int]:
        if part is None:
            return (-1,)
        if id(part) not in self._places:
            self._places[id(part)] = len(self.all)
            self.all.append(part)
        return (self._places[id(part)],)


class Packed:
    """``machines`` and ``channels`` as they begin, for any number of runs, and how to read the state that comes back.

    ``mask_words``: so many 64-bit words has a set of ports. Tokens that leave the program are kept if ``outputs``.
    Capacities of channels, and the memory, may be others in each run.
    """

    def __init__(
        self,
        machines: Sequence[Machine],
        channels: Sequence[Channel],
        layouts: Mapping[type[Machine], MachineLayout],
        handles: Handles,
        number: Callable[[Callable[..., Any]], int],
        *,
        mask_words: int,
        outputs: bool,
        watch: Watch,
    ) -> None:
        self._handles, self._number, self._layouts = handles, number, layouts
        self._machines, self._channels, self._mask_words = machines, channels, mask_words
        self._banks, self._buffers, self._tiles, self._token_notes, self._int_notes = (_Parts() for _ in range(5))
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
            fields.INTS: ints,
            fields.PAIRS: lambda value: (len(value), *(each for pair in value for each in pair)),
            fields.TOKENS: self._tokens,
            fields.STREAM: self._stream,
            fields.FUNCTION: lambda value: (number(value),),
            fields.BANKS: self._banks.place,
            fields.BUFFERS: self._buffers.place,
            fields.TILES: self._tiles.place,
            fields.TOKEN_NOTES: self._token_notes.place,
            fields.INT_NOTES: self._int_notes.place,
        }
        packed = array("q", [len(machines)])
        self._memories = [
            each for each in machines if isinstance(each, OffChipMemory)
        ]  # one at most, behind all others
        for machine in machines[: len(machines) - len(self._memories)]:
            packed.extend(self._machine(machine))
        head = array("q", [len(channels), len(every)])
        self._places: list[int] = []
        """Of each channel, where its space stands; its flags and its lag are the next numbers."""
        filled = []
        for channel in every:
            self._places.append(len(head) + 1)
            filled.append(len(channel.tokens))
            gathering = (0, 0, 0) if channel.gathering is None else astuple(channel.gathering)
            watcher = watch.get(channel)
            flags = 0 if watcher is None else WATCHED | COUNTS_ROWS * watcher.rows
            head.extend((channel.index, 0, flags, 0, channel.addresses, *gathering, len(channel.tokens)))
            for token in channel.tokens:
                head.extend(handles.words(token))
        self._filled = np.array(filled, np.int64)
        head.extend((len(self._banks.all), *(each.count for each in self._banks.all)))
        head.extend((len(self._buffers.all), len(self._tiles.all)))
        for tiles in self._tiles.all:
            wanted = any(each is not UNKNOWN for each in tiles)
            head.extend((len(tiles), number(tiles.__getitem__) if wanted else -1))
        head.extend((len(self._token_notes.all), *[int(outputs)] * len(self._token_notes.all)))
        head.append(len(self._int_notes.all))
        self._numbers = np.frombuffer(head + packed, np.int64)
        self._changed: list[tuple[MutableSequence[Any], int, Any]] = []
        self._objects = len(handles.objects)

    def numbers(self, *, logged: bool, recorded: bool = False) -> np.ndarray:
        """Numbers that a run begins with, with the channels and the memory as they are now.

        ``logged``: what passes the channels of the program is kept; ``recorded``: who put and took it, in all of them.
        """
        memories = (np.array(self._memory(each), np.int64) for each in self._memories)
        numbers = np.concatenate((self._numbers, *memories))
        places = np.array(self._places)
        numbers[places] = np.array([each.capacity for each in self._every], np.int64) - self._filled
        numbers[places + 1] |= [LOGGED * (recorded or (logged and each.index >= 0)) for each in self._every]
        numbers[places + 2] = [each.lag for each in self._every]
        return numbers

    def rewind(self) -> None:
        """Forget what the last run left, where another one would add to it."""
        for notes in (*self._token_notes.all, *self._int_notes.all):
            notes.clear()
        for tiles, place, value in self._changed:
            tiles[place] = value
        self._changed.clear()
        self._handles.forget(self._objects)

    def _mask(self, mask: int) -> list[int]:
        words = [mask >> 64 * place & WORD for place in range(self._mask_words)]
        return [word - (1 << 64) if word >> 63 else word for word in words]

    def _tokens(self, tokens: Sequence[Token]) -> Sequence[int]:
        words = array("q", [len(tokens)])
        for token in tokens:
            words.extend(self._handles.words(token))
        return words

    def _stream(self, tokens: Sequence[Token]) -> Sequence[int]:
        if not isinstance(tokens, RegularStream):
            return self._tokens(tokens)
        words = array("q", (LOOPS, *ints(tokens.stops), tokens.values is not None))
        if tokens.values is not None:
            words.extend(map(self._handles.number, tokens.values))
        return words

    def _base(self, machine: Machine) -> list[int]:
        channels = self._pack[fields.CHANNELS]
        base = [*channels(machine.inputs), *channels(machine.outputs), machine.latency, machine.interval]
        base += [int(machine.ends_run), int(machine.contends), machine.burst, int(machine.sizes is not None)]
        inside = [-1] * (len(machine.outputs) - len(machine.sized))  # outputs of the unit come first
        return base + ([self._number(pace_part(machine.sizes)), *machine.sized, *inside] if machine.sizes else [])

    def _machine(self, machine: Machine) -> list[int]:
        layout = self._layouts[type(machine)]
        own = [word for name, kind in layout.fields.items() for word in self._pack[kind](getattr(machine, name))]
        return [layout.number, *self._base(machine), *own]

    def _memory(self, memory: OffChipMemory) -> list[int]:
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

    # -- back ----------------------------------------------------------------------------------------------------------

    def note(self, numbers: Sequence[int]) -> None:
        """Bring the tokens that were noted since the last time to their lists."""
        at = 0
        for notes in self._token_notes.all:
            count, at = numbers[at], at + 1
            notes.extend(self._handles.token(numbers[place : place + 4]) for place in range(at, at + 4 * count, 4))
            at += 4 * count

    def restore(self, numbers: Sequence[int], at: int) -> None:
        """Bring the state behind a run, which begins at place ``at`` of ``numbers``, into machines and channels."""

        def take(count: int) -> Sequence[int]:
            nonlocal at
            at += count
            return numbers[at - count : at]

        for channel in self._channels:
            channel.taken, channel.peak, channel.space, count = take(4)
            channel.tokens.clear()
            for _ in range(count):
                token = self._handles.token(take(4))
                assert token is not None
                channel.tokens.append(token)
        for machine in self._machines:
            machine.activity, machine.firings = take(2)
            if machine.sizes is not None:
                machine.interval, machine.latency, machine.burst = take(3)
            if isinstance(machine, OffChipMemory):
                for port in machine.ports:
                    (port.beat,) = take(1)
                continue
            for name, kind in self._layouts[type(machine)].back.items():
                setattr(machine, name, self._state(kind, getattr(machine, name), take))
        for tiles in self._tiles.all:
            for place, number in enumerate(take(take(1)[0])):
                if number != NOTHING_THERE and (value := self._handles.value(number)) is not UNKNOWN:
                    self._changed.append((tiles, place, tiles[place]))
                    tiles[place] = value
        for notes in self._int_notes.all:
            notes.extend(take(take(1)[0]))

    def _state(self, kind: Kind, before: Any, take: Callable[[int], Sequence[int]]) -> Any:
        if kind == fields.TOKEN:
            return self._handles.token(take(4))
        if kind == fields.MASK:
            return sum((word & WORD) << 64 * place for place, word in enumerate(take(self._mask_words)))
        (word,) = take(1)
        if kind == fields.VALUE:
            return self._handles.value(word)
        return bool(word) if isinstance(before, bool) else word
