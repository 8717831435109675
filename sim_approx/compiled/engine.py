"""One run on the compiled engine, with the interface of `sim_approx.engine.events.PythonEngine`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from sim_approx.compiled.library import CALLBACK, engine_of, own_machines, rules_for
from sim_approx.compiled.pack import MASK_WORD, NOTHING_THERE, Handles, Packed
from sim_approx.engine.events import EVENT, Ending, EventLog, Told, Watch
from sim_approx.engine.record import FIRED, WAIT, Counted, RunRecord
from sim_approx.memory.channels import OffChipMemory
from sim_approx.placing.site import PlacedFabric
from step.firing.terms import MASK, TOKEN, VALUE, Kind
from step.host.progress import Progress, silent
from step.language.faults import Fault, Violation
from step.language.tokens import UNKNOWN, Token
from step.running.result import Status, control_token

SLICE = 5_000_000
"""Tries between two moments in which an interrupt is seen, and progress told: some 0.1 s. A call of a function of
values counts as many (`Engine::run`)."""

GOES_ON, BROKEN = 0, 5
STATUS = {1: Status.FINISHED, 2: Status.DEADLOCK, 3: Status.RUNAWAY, 4: Status.FAULT}
UNBOUNDED = (1 << 63) - 1

CONTROL_BITS = 10
"""Of the words for tokens that are watched; above these stand the rows of a tile."""

CONTROL = (1 << CONTROL_BITS) - 1

WORD = np.dtype(np.int64)


class CompiledEngine:
    """Any number of runs of ``fabric``, one after the other.

    Raises `RuleError` and `NoLibrary` where there can be none, and `NotYet` where there is none yet, and no ``wait``.

    ``outputs``: whether what leaves the program is kept.
    """

    def __init__(
        self, fabric: PlacedFabric, watch: Watch, *, outputs: bool, progress: Progress = silent, wait: bool = True
    ) -> None:
        self._machines, self._channels = fabric.machines, fabric.all_channels
        self._watch = {channel.index: each for channel, each in watch.items()}
        by_rule = [each for each in fabric.machines if each is not fabric.memory]
        rules = rules_for(frozenset(map(type, by_rule)) - frozenset(own_machines()))
        ports = max((max(len(each.inputs), len(each.outputs)) for each in by_rule), default=1)
        words = self._mask_words = 1 << max(0, (ports - 1).bit_length() - 6)  # of 64 bits, for a set of ports
        self._library = engine_of(rules, words, progress, wait)
        self._layouts = rules.layouts
        self._handles = Handles(rules.constants)
        self._packed = Packed(fabric, rules.layouts, self._handles, mask_words=words, outputs=outputs, watch=watch)

    def run(
        self,
        max_cycles: int | None = None,
        log: EventLog | None = None,
        told: Told | None = None,
        jump: bool = True,
        notes: Counted | RunRecord | None = None,
    ) -> Ending:
        """Run like `sim_approx.engine.events.PythonEngine.run`.

        ``jump``: repetitions of a regular phase are counted, to the same end, where there are no ``notes``, which get
        what machines did when, or what every firing waited for.
        """
        library, handles, packed = self._library, self._handles, self._packed
        recorded = isinstance(notes, RunRecord)
        callback, numbers = CALLBACK(handles.call), packed.numbers(logged=log is not None, recorded=recorded)
        run = library.step_start(numbers.ctypes.data, callback, jump and notes is None, recorded)
        try:
            if isinstance(notes, Counted):
                library.step_profile(run, notes.width, notes.cycles)
            limit, outcome = UNBOUNDED if max_cycles is None else max_cycles, GOES_ON
            while outcome == GOES_ON:
                outcome = library.step_run(run, limit, SLICE)
                self._show(run)
                noted = iter(_array(library.step_notes, run, WORD).tolist())
                for tokens in packed.token_notes:
                    tokens.extend(self._token(noted) for _ in range(next(noted)))
                if told is not None and outcome == GOES_ON:
                    told(library.step_now(run), library.step_entered(run))
            if outcome == BROKEN:
                assert handles.error is not None
                raise handles.error
            if log is not None:
                log.entered, log.left = (_array(ask, run, EVENT) for ask in (library.step_events, library.step_leaves))
            if isinstance(notes, Counted):
                notes.fill(_array(library.step_profiled, run, WORD), self._machines)
            ending = self._ending(iter(_array(library.step_report, run, WORD).tolist()))
            if isinstance(notes, RunRecord):
                notes.fill(self._fired(run), _array(library.step_waits, run, WAIT), ending.cycles)
            return ending
        finally:
            library.step_end(run)

    def _show(self, run: int) -> None:
        """Show the tokens that were seen to those who watch."""
        if self._watch:
            for _, channel, word in _array(self._library.step_seen, run, EVENT).tolist():
                watcher = self._watch[channel]
                watcher.see(control_token(word & CONTROL, word >> CONTROL_BITS if watcher.rows else UNKNOWN))
            self._library.step_forget_seen(run)

    def _fired(self, run: int) -> np.ndarray:
        """The events of a record, which come in parts."""
        parts, count = [], ctypes.c_int64()
        while address := self._library.step_fired(run, ctypes.byref(count)):
            part = (ctypes.c_char * (count.value * FIRED.itemsize)).from_address(address)
            parts.append(np.frombuffer(memoryview(part), FIRED))
        return np.concatenate(parts or [np.zeros(0, FIRED)])

    def _ending(self, numbers: Iterator[int]) -> Ending:
        status, cycles, jumped = islice(numbers, 3)
        activities, firings = {}, {}
        for machine in self._machines:
            activities[machine], firings[machine] = list(islice(numbers, 4)), next(numbers)
        entered = {channel: (next(numbers), next(numbers)) for channel in self._channels}
        faults = [(self._machines[next(numbers)], Violation(Fault(next(numbers)))) for _ in range(next(numbers))]
        self._restore(numbers)
        return Ending(STATUS[status], cycles, activities, firings, entered, faults, jumped)

    def _restore(self, numbers: Iterator[int]) -> None:
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
        for tiles in self._packed.tiles:
            for place, number in enumerate(islice(numbers, next(numbers))):
                if number != NOTHING_THERE and (value := self._handles.value(number)) is not UNKNOWN:
                    self._packed.changed.append((tiles, place, tiles[place]))
                    tiles[place] = value
        for notes in self._packed.int_notes:
            notes.extend(islice(numbers, next(numbers)))

    def _token(self, numbers: Iterator[int]) -> Token:
        token = self._handles.token(islice(numbers, 4))
        assert token is not None
        return token

    def _state(self, kind: Kind, before: Any, numbers: Iterator[int]) -> Any:
        if kind == TOKEN:
            return self._handles.token(islice(numbers, 4))
        if kind == MASK:
            words = enumerate(islice(numbers, self._mask_words))
            return sum((word & MASK_WORD) << 64 * place for place, word in words)
        word = next(numbers)
        if kind == VALUE:
            return self._handles.value(word)
        return bool(word) if isinstance(before, bool) else word


def _array(ask: Callable[[int, Any], int], run: int, kind: np.dtype) -> np.ndarray:
    """The library's answer: a pointer to items of ``kind``, and their number."""
    count = ctypes.c_int64()
    address = ask(run, ctypes.byref(count))
    size = count.value * kind.itemsize
    return np.frombuffer(ctypes.string_at(address, size), kind)
