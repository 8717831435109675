"""A fabric as numbers, in the order in which ``cpp/reader.hpp`` reads them, and back.

Integers >= 0 stand for themselves, and for an object stands the complement of its place.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import astuple
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from sim_approx.compiled.handles import NOTHING_THERE, Handles
from sim_approx.compiled.library import MachineLayout
from sim_approx.engine.events import Watch
from sim_approx.memory.channels import OffChipMemory
from sim_approx.placing.site import PlacedFabric
from step.firing import terms as fields
from step.firing.machine import Machine, Unread
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


def _ints(entries: Sequence[int]) -> Sequence[int]:
    """A list as its entries, loops as what they are made of."""
    match entries:
        case Walk():
            walk = entries.joined()
            return WALK, len(walk), len(walk.extents), *walk.extents, *walk.strides, walk.offset
        case Stops(extents=extents, most=most):
            return STOPS, len(entries), len(extents), *extents, most
    return array("q", (LISTED, len(entries), *entries))


def _place(shared: Handles, part: Any) -> Sequence[int]:
    """The place of a ``part`` that machines share; -1: there is none."""
    return (-1 if part is None else ~shared.number(part),)


class Packed:
    """``fabric`` as it begins, for any number of runs, and how to read the state that comes back.

    ``mask_words``: so many 64-bit words has a set of ports. Tokens that leave the program are kept if ``outputs``.
    Capacities of channels, and the memory, may be others in each run.
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
        machines, channels = self._machines, self._channels = fabric.machines, fabric.all_channels
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
        banks, buffers, self._tiles, self._token_notes, self._int_notes = (
            each.objects for each in self._shared.values()
        )
        head.extend((len(banks), *(each.count for each in banks), len(buffers), len(self._tiles)))
        for tiles in self._tiles:
            wanted = any(each is not UNKNOWN for each in tiles)
            head.extend((len(tiles), handles.function(tiles.__getitem__) if wanted else -1))
        head.extend((len(self._token_notes), *[int(outputs)] * len(self._token_notes), len(self._int_notes)))
        self._numbers = np.frombuffer(head + packed, np.int64)
        self._changed: list[tuple[MutableSequence[Any], int, Any]] = []
        handles.keep()

    def numbers(self, *, logged: bool, recorded: bool = False) -> np.ndarray:
        """Numbers that a run begins with, with the channels and the memory as they are now; what the last one left is
        forgotten.

        ``logged``: what passes the channels of the program is kept; ``recorded``: who put and took it, in all of them.
        """
        for notes in (*self._token_notes, *self._int_notes):
            notes.clear()
        for tiles, place, value in self._changed:
            tiles[place] = value
        self._changed.clear()
        memory = [] if self._memory is None else self._of_memory(self._memory)
        numbers = np.concatenate((self._numbers, np.array(memory, np.int64)))
        places = np.array(self._places)
        numbers[places] = np.array([each.capacity for each in self._every], np.int64) - self._filled
        numbers[places + 1] |= [LOGGED * (recorded or (logged and each.index >= 0)) for each in self._every]
        numbers[places + 2] = [each.lag for each in self._every]
        return numbers

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

    # -- back ----------------------------------------------------------------------------------------------------------

    def note(self, numbers: Iterator[int]) -> None:
        """Bring the tokens that were noted since the last time to their lists."""
        for notes in self._token_notes:
            notes.extend(self._token(numbers) for _ in range(next(numbers)))

    def restore(self, numbers: Iterator[int]) -> None:
        """Bring the state behind a run, which ``numbers`` go on with, into machines and channels."""
        for channel in self._channels:
            channel.taken, channel.peak, channel.space, count = islice(numbers, 4)
            channel.tokens.clear()
            channel.tokens.extend(self._token(numbers) for _ in range(count))
        for machine in self._machines:
            machine.activity, machine.firings = islice(numbers, 2)
            if machine.sizes is not None:
                machine.interval, machine.latency, machine.burst = islice(numbers, 3)
            if isinstance(machine, OffChipMemory):
                for port in machine.ports:
                    port.beat = next(numbers)
                continue
            for name, kind in self._layouts[type(machine)].back.items():
                setattr(machine, name, self._state(kind, getattr(machine, name), numbers))
        for tiles in self._tiles:
            for place, number in enumerate(islice(numbers, next(numbers))):
                if number != NOTHING_THERE and (value := self._handles.value(number)) is not UNKNOWN:
                    self._changed.append((tiles, place, tiles[place]))
                    tiles[place] = value
        for notes in self._int_notes:
            notes.extend(islice(numbers, next(numbers)))

    def _token(self, numbers: Iterator[int]) -> Token:
        token = self._handles.token(islice(numbers, 4))
        assert token is not None
        return token

    def _state(self, kind: Kind, before: Any, numbers: Iterator[int]) -> Any:
        if kind == fields.TOKEN:
            return self._handles.token(islice(numbers, 4))
        if kind == fields.MASK:
            return sum((word & WORD) << 64 * place for place, word in enumerate(islice(numbers, self._mask_words)))
        word = next(numbers)
        if kind == fields.VALUE:
            return self._handles.value(word)
        return bool(word) if isinstance(before, bool) else word
