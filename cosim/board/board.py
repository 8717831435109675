"""The hardware of one program behind standard buses, in simulation: made once, and run as often as a host likes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from cosim.board.failing import failure
from cosim.board.memory import check_places, contents, outputs_of, places
from cosim.board.simulation import BoardProcess, build_board, check_models
from cosim.board.tables import PlacedImage, Tables, masters_of, tables_of
from hw.registers.wrapper import board_design
from step.errors import Deadlock, InputError
from step.host.progress import Progress, silent
from step.host.watching import watched
from step.language.parameters import settled
from step.lowering.board import board_of
from step.lowering.bus import BusConfig
from step.lowering.dma import REQUEST
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist
from step.lowering.registers import PATIENCE
from step.programs.data.inputs import BoundInputs
from step.programs.prepare import Inputs, Openable, open_program, prepare
from step.programs.program import Program
from step.running.backend import Run
from step.running.options import options_for
from step.running.result import RunResult, Status

START, RESET, IDLE = 1, 2, 2
ALL_INTERRUPTS = 7
ROOM = 1 << 24
"""Bytes for an image whose size only a run tells, where there are so many addresses."""


class Board(AbstractContextManager["Board"]):
    """Simulation of ``program`` as the board that ``step board`` writes (docs/board.md), with memory and a host.

    Runs follow each other as they do in hardware, without a reset of the simulation. They have outputs, and the cycles
    that the board's register counted. The simulation ends with the last reference to the board, with `close`, or as a
    context manager.

    ``program``: a `Program`, a `Graph` or the name of a file.
    ``bus``: the `BusConfig` of its AXI4 buses, by default that of the fabric where it has one, else ``BusConfig()``.
    ``fabric``: a `FabricConfig` in the place of the program's own.
    ``latency``: cycles that memory takes for a word besides one.
    ``pauses``: the share of cycles, 0 to 1, in which a channel of a bus rests.
    ``watchdog``: cycles without movement after which a run fails; 0: never.
    ``base``: the byte address from which images lie one after the other.
    ``optimize``: False builds the simulator faster and runs it slower.
    ``progress``: told what is going on, as that of `run`.

    Raises `EnvironmentProblem` for what is not installed, `FabricError` for buses that do not suit the program, and
    `BuildError`; warns as `run` does.

    >>> with step.Board(program, optimize=False) as board:  # doctest: +SKIP
    ...     [board.run({"x": [[1, 2, 3]]}).outputs["y"].numpy().item() for _ in range(2)]
    [6.0, 6.0]
    """

    def __init__(
        self,
        program: Openable,
        *,
        bus: BusConfig | None = None,
        fabric: FabricConfig | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> None:
        asked = options_for(self._build, options, "step.Board")
        settled(bus, BusConfig | None, "bus", InputError)
        self.program: Program = open_program(program, fabric=fabric)
        self.bus: BusConfig = bus or self.program.fabric.memory.bus or BusConfig()
        prepared = prepare(self.program)
        prepared.warn()
        with watched(progress) as telling:
            self._build(prepared.netlist, progress=telling, **asked)
        self._started: Program | None = None

    def _build(
        self,
        netlist: Netlist,
        *,
        latency: int = 0,
        pauses: float = 0.0,
        watchdog: int = PATIENCE,
        base: int = 0,
        optimize: bool = True,
        progress: Progress = silent,
    ) -> None:
        check_models()
        board = board_of(netlist, self.bus, streams=True)
        check_places(places(board, base, {}), {}, board)  # what is known without data
        progress("writing Verilog")
        design = board_design(netlist, self.bus, streams=True, initial_values=False)
        self._tables: Tables = tables_of(netlist, design)
        self._base = base
        built = build_board(design, optimize=optimize, progress=progress)
        plan = {"masters": self.bus.masters, "latency": latency, "pauses": pauses, "seed": 1}
        self._simulation = BoardProcess(built, plan)
        self._placed: tuple[PlacedImage, ...] = ()
        self._inputs: dict[str, bytes] = {}
        self._set({"watchdog": watchdog, "interrupt_enable": ALL_INTERRUPTS})

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<board of {self.program.name}: {masters_of(self.bus)} of {self.bus.bytes} bytes>"

    def close(self) -> None:
        """End the simulation."""
        self._simulation.close()

    def run(self, inputs: Inputs | None = None, *, bases: Mapping[str, int] | None = None) -> Run:
        """Run with ``inputs``, or with the program's own, to the end.

        ``bases`` are byte addresses of images, by name; others lie one after the other. Raises `InputError` for data
        that does not fit the program, and for addresses that images can not have; a fault as other back ends have it,
        `Deadlock` with who waits for whom, and `SimulationError`. The next run may follow all of these.
        """
        self.start(inputs, bases=bases)
        return self.wait()

    def start(self, inputs: Inputs | None = None, *, bases: Mapping[str, int] | None = None) -> None:
        """The begin of a `run`, without its end; raises `InputError` during a run."""
        if self._started is not None:
            raise InputError("the board is running; wait() for the end of the run before the next start")
        program = open_program(self.program, inputs=inputs)
        self._place(prepare(program).data, bases or {})
        self._set({"interrupt": ALL_INTERRUPTS})
        self._set({"control": START})
        self._started, self._began = program, time.monotonic()

    def wait(self) -> Run:
        """The run that was started, at its end; raises as `run` does."""
        if self._started is None:
            raise InputError("the board is not running; start() a run before wait()")
        program, self._started = self._started, None
        return Run(program, self._ended())

    def _place(self, data: BoundInputs, bases: Mapping[str, int]) -> None:
        """Put ``data`` into memory, images at ``bases``; raises what `check_places` raises."""
        given, board = contents(self._tables, data), self._tables.design.board
        least = min(ROOM, (1 << board.bus.address_bits) // (4 * len(board.images)))
        placed = places(board, self._base, {name: len(each) for name, each in given.items()}, least)
        placed = check_places(placed, bases, board)
        empty = bytes(REQUEST * board.beat_bytes)
        lists = {f"{each.name}_list": empty for each in self._tables.streams if not each.stream.is_source}
        there = self._inputs if placed == self._placed else {}  # what a run in other places may have written over
        put = {name: each for name, each in (given | lists).items() if there.get(name) != each}
        self._simulation.ask("put", [(place.address, put[place.name]) for place in placed if place.name in put])
        self._simulation.ask("set", [each for place in placed for each in self._tables.settings(place).values()])
        self._placed = placed
        self._inputs = {name: each for name, each in given.items() if name not in self._tables.results}

    def _ended(self) -> RunResult:
        """The run that was started, at its end; a run that failed is an error with the ``result``."""
        ask, addresses = self._simulation.ask, self._tables.addresses
        ask("interrupt")
        names = [name for name in addresses if not name.startswith(("control", "base_", "limit_"))]
        found = dict(zip(names, ask("read", [addresses[name] for name in names]), strict=True))
        cycles, program = found["cycles_high"] << 32 | found["cycles_low"], self._tables.netlist.graph.name
        result = RunResult("board", program, Status.FINISHED, cycles, None, {}, {}, time.monotonic() - self._began)
        if error := failure(self._tables, found, self._waits(found)):
            # Until it is reset the fabric goes on, and writes to memory that a host may use again.
            self._set({"control": RESET})
            while not ask("read", [addresses["status"]])[0] & IDLE:
                pass
            status = Status.DEADLOCK if isinstance(error, Deadlock) else Status.FAULT
            error.result = replace(result, status=status, error=str(error))
            raise error
        results = [each for each in self._placed if each.name in self._tables.results]
        left = ask("get", [(each.address, each.bytes) for each in results])
        images = dict(zip((each.name for each in results), left, strict=True))
        return replace(result, outputs=outputs_of(self._tables, images))

    def _set(self, values: Mapping[str, int]) -> None:
        """Write registers, by name."""
        self._simulation.ask("set", [(self._tables.addresses[name], value) for name, value in values.items()])

    def _waits(self, found: Mapping[str, int]) -> list[int]:
        """``wait_edge`` of each channel, where the watchdog fired."""
        edges = []
        for at in range(found["size"] >> 16 if found["fault"] & 0xF else 0):
            self._set({"wait_index": at})
            edges += self._simulation.ask("read", [self._tables.addresses["wait_edge"]])
        return edges
