"""A board, and what it has to do."""

from __future__ import annotations

import ctypes
import time
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import PATTERNS, flattened, patterns
from .calls import DriverCalls, read_all
from .errors import BoardError
from .folder import image, memory_map, tables
from .runs import RunBuffers, StartedRun, read_stream, read_tensor, view_tensor
from .transport import Transport

RUNNING, IDLE, ALL_INTERRUPTS = 1, 2, 7


@dataclass(frozen=True, eq=False)
class HeldInput:
    """An input that stays in memory (`Driver.hold`); runs take it in the place of data."""

    name: str


class Driver:
    """The board behind ``transport``; its images lie from ``base`` on, by default where ``memory.json`` has them.

    Only what changed is moved: inputs that are other ones than those before, and outputs. Two runs may be in flight:
    the second one has buffers of its own, behind the images, which are written while the first one runs, and the board
    begins it at the end of that. ``cycles``: of the last run that is over. A run of somebody before is ended, as is one
    in flight at the end of the program, so that nothing writes to memory of others.
    """

    cycles = 0

    def __init__(self, transport: Transport, *, base: int | None = None) -> None:
        if missing := [each for each in dir(Transport) if not each.startswith("_") and not hasattr(transport, each)]:
            raise BoardError(f"a {type(transport).__name__} has no {', '.join(missing)}: make it a host.Transport")
        self.transport, self._told, self._map = transport, tables(), memory_map()
        self._kinds = {each["name"]: (kind, at, each) for kind in ("tensors", "streams")
                       for at, each in enumerate(self._told[kind])}  # fmt: skip
        self._inputs = [name for name, (_, _, each) in self._kinds.items() if each["read"]]
        self._stored = [name for name, (_, _, each) in self._kinds.items() if each["stored"]]
        self._kept = [name for name in self._inputs if name in self._stored]
        there = {each["name"] for each in self._map["images"]}
        for name in (name for _, _, each in self._kinds.values() for name in each["images"] if name not in there):
            raise BoardError(f"data/memory.json has no image {name!r}, which the board has")
        base = self._map["base"] if base is None else base
        if not isinstance(base, int) or not 0 <= base < 1 << 64:
            raise BoardError(f"base must be an address, an integer of 64 bits, not {base!r}")
        self._calls = DriverCalls(transport, self._told["fabric"])
        self._buffers = [RunBuffers(self._calls, 0, transport, base, self._map["images"], {})]
        self._runs, self._held, self._begun = list[StartedRun](), dict[str, HeldInput](), set[str]()
        self.quiet()
        if transport.interrupts:
            self._calls("step_board_interrupts", self._buffers[0].board, ALL_INTERRUPTS)
        weakref.finalize(self, _end, self._runs)

    def hold(self, name: str, data: Any) -> HeldInput:
        """Put an input into memory once, where it stays for all runs that take the handle."""
        if self._runs:
            raise BoardError(f"{name} can not be held while a run is in flight; wait() for that")
        if name in self._stored or name not in self._inputs:
            raise BoardError(
                f"{name} is {'stored by the program' if name in self._stored else 'no input'}: none to hold"
            )
        self._put(self._buffers[0], {name: self._given(name, data)})
        self._held[name] = HeldInput(name)
        for index, each in enumerate(self._map["images"]):
            if each["name"] in self._kinds[name][2]["images"]:
                for other in self._buffers[1:]:
                    other.place(index, each["name"], self._buffers[0].places[each["name"]])
        return self._held[name]

    def start(self, inputs: dict[str, Any]) -> StartedRun:
        """Start a run with ``inputs`` by name, behind the one in flight.

        A tensor that the program stores may be left out: it begins as the last run left it, or as zeros.
        """
        if not isinstance(inputs, dict):
            raise BoardError(f"inputs must be a dict of data by name, not {type(inputs).__name__}")
        needed = {name for name in self._inputs if name not in self._stored}
        if not needed <= set(inputs) <= set(self._inputs):
            raise BoardError(f"inputs must be {', '.join(self._inputs)}, not {', '.join(map(str, inputs)) or 'none'}")
        for each in [each for each in self._runs if each.dropped]:
            self.look(each)
        # all of it is looked at before any of it is written
        given = {name: self._given(name, data) for name, data in inputs.items() if not self._is_held(name, data)}
        if self._kept and self._runs:
            raise BoardError(
                f"{self._kept[0]} goes from run to run: wait() for the run in flight before the next start"
            )
        buffers = self._free()
        zeros = {name: self._zeros(name) for name in self._kept if name not in self._begun}
        self._put(buffers, {**zeros, **given})
        run = StartedRun(self, buffers)
        self._begin(run)
        self._runs.append(run)
        return run

    def run(self, inputs: dict[str, Any], *, in_place: bool = False) -> dict[str, Any]:
        """Run with ``inputs`` to the end; what came out, by name (`StartedRun.wait`)."""
        run = self.start(inputs)
        try:
            return run.wait(in_place=in_place)
        finally:
            run.drop()  # where wait() was broken off it still goes on

    def check(self) -> None:
        """Run the program's own data, and compare what is left in memory; raises `BoardError` where it is not right."""
        if self._runs or self._held:
            raise BoardError("check() writes all of memory: call it before hold(), and with no run in flight")
        buffers, before = self._buffers[0], image("memory")
        buffers.forget()
        buffers.memory.raw = before
        self.transport.write(buffers.address, before)
        self._begun.update(self._kept)
        run = StartedRun(self, buffers)
        self._begin(run)
        self._runs.append(run)
        run.drop()
        while not run.done:
            self.transport.wait()
        if run.error is not None:
            raise run.error
        found, size = read_all(self.transport, buffers.address, buffers.size), ctypes.c_size_t(buffers.size)
        at = self._calls("step_board_differs", found, image("expected"), image("mask"), size)
        for each in self._map["images"]:
            place = at - (each["address"] - self._map["base"])
            if at < buffers.size and 0 <= place < each["bytes"]:
                raise BoardError(f"{each['name']} is wrong from its byte {place} on")

    def look(self, run: StartedRun) -> bool:
        """Whether ``run`` is over; starts again what waited for one that failed."""
        for each in [] if run.ended else list(self._runs):
            if each.ended:
                continue
            if each.started and not self._over(each):
                break
            if not each.started:
                try:
                    self._begin(each)
                except Exception as error:  # of that run, whose wait() raises it
                    each.error, each.ended = error, True
        return run.ended

    def leave(self, run: StartedRun) -> None:
        """The buffers of ``run`` are free for another one."""
        if run in self._runs:
            self._runs.remove(run)

    def quiet(self) -> None:
        """End a run, until the board leaves memory alone, or a second: then the memory owes it answers."""
        self._calls("step_board_reset", self._buffers[0].board)
        until = time.monotonic() + 1
        while not self.transport.read32(self._told["registers"]["status"]) & IDLE and time.monotonic() < until:
            time.sleep(0.0001)

    def outputs(self, buffers: RunBuffers, in_place: bool) -> dict[str, Any]:
        """Results of the run in ``buffers``, by name."""
        found = dict[str, Any]()
        for name, (kind, number, each) in self._kinds.items():
            if kind == "streams" and not each["read"]:
                found[name] = read_stream(self._calls, buffers, number, each)
            elif each["stored"] and each["shape"][0]:
                if in_place:
                    found[name] = view_tensor(self.transport, buffers, each)
                else:
                    found[name] = read_tensor(self._calls, buffers, number, each)
        return found

    def _given(self, name: str, data: Any) -> tuple[bytes, tuple[int, ...]]:
        kind, _, each = self._kinds[name]
        if kind == "streams":
            return flattened(data, each)
        array = patterns(data, each["dtype"], name)
        if list(array.shape) != each["shape"]:
            raise BoardError(f"{name} must have shape {each['shape']}, not {list(array.shape)}")
        return array.tobytes(), ()

    def _zeros(self, name: str) -> tuple[bytes, tuple[int, ...]]:
        each = self._kinds[name][2]
        return np.zeros(each["shape"], PATTERNS[each["dtype"]]).tobytes(), ()

    def _is_held(self, name: str, data: Any) -> bool:
        """Whether ``data`` is the handle of ``name``; raises `BoardError` for another one, and for other data."""
        held = self._held.get(name)
        if held is not data and (held is not None or isinstance(data, HeldInput)):
            raise BoardError(
                f"{name} {'is held' if held else 'is not held'}: give what hold({name!r}, data) returned last"
            )
        return held is not None

    def _put(self, buffers: RunBuffers, given: dict[str, tuple[bytes, tuple[int, ...]]]) -> None:
        for name, (values, lengths) in given.items():
            kind, number, _ = self._kinds[name]
            buffers.put(kind, number, name, values, lengths)
            self._begun.add(name)

    def _free(self) -> RunBuffers:
        """Buffers that no run in flight has."""
        taken = [each.buffers for each in self._runs]
        for buffers in self._buffers:
            if buffers not in taken:
                return buffers
        if len(self._buffers) == 2:
            raise BoardError("two runs are in flight; wait() for the first one before the next start")
        first = self._buffers[0]
        shared = {each: first.places[each] for name in self._held for each in self._kinds[name][2]["images"]}
        after = first.address + first.size
        self._buffers.append(RunBuffers(self._calls, 1, self.transport, after, self._map["images"], shared))
        return self._buffers[1]

    def _begin(self, run: StartedRun) -> None:
        waits = any(each.started and not each.ended for each in self._runs)
        self._calls.check("start", f"step_board_{'queue' if waits else 'start'}", run.buffers.board)
        run.buffers.forget(self._stored)
        run.started = True

    def _over(self, run: StartedRun) -> bool:
        """Whether the board is done with ``run``."""
        board = run.buffers.board
        if run.error is None:
            if (result := self._calls("step_board_poll", board)) == RUNNING:
                return False
            self.cycles = run.cycles = int(self._calls("step_board_cycles", board))
            run.error = BoardError(self._fault(board)) if result else None
        if run.error is not None:
            self.quiet()
        elif self.transport.interrupts:
            self._calls("step_board_isr", board)  # or the next wait() ends at once
        run.ended = True
        for each in self._runs if run.error is not None else ():
            each.started = each.ended  # what was queued went with it
        if run.dropped:
            self.leave(run)
        return True

    def _fault(self, board: ctypes.c_void_p) -> str:
        class Fault(ctypes.Structure):
            _fields_ = (("code", ctypes.c_uint32), ("text", ctypes.c_char_p), ("where", ctypes.c_char_p),
                        ("address", ctypes.c_uint64), ("memory_waits", ctypes.c_int))  # fmt: skip

        fault = Fault()
        self._calls("step_board_fault", board, ctypes.byref(fault))
        where = f"{fault.where.decode()}: " if fault.where else ""
        address = f" (address {fault.address:#x})" if fault.address else ""
        waits = "; memory has not answered" if fault.memory_waits else ""
        return f"{where}{fault.text.decode()}{address}{waits}"


def _end(runs: list[StartedRun]) -> None:
    """Reset the board of ``runs``, whose driver they hold as long as one is in flight."""
    for each in runs:
        if each.started and not each.ended:
            each.driver.quiet()
