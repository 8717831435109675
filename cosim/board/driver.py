"""A host of a board in simulation, under `step.Board`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from cosim.board.failing import failure
from cosim.board.memory import PlacedImage, check_places, contents, places
from cosim.board.results import outputs_of
from cosim.board.simulation import BoardProcess, build_board, check_models
from cosim.board.tables import Tables, tables_of
from hw.registers.wrapper import board_design
from step.errors import Deadlock
from step.host.progress import Progress, silent
from step.lowering.board import board_of
from step.lowering.bus import BusConfig
from step.lowering.dma import MOST_LIMIT, REQUEST
from step.lowering.netlist import Netlist
from step.lowering.registers import PATIENCE
from step.programs.data.inputs import BoundInputs
from step.running.result import RunResult, Status

START, RESET, IDLE = 1, 2, 2
ALL_INTERRUPTS = 7
ROOM = 1 << 24
"""Bytes for an image whose size only a run tells, where there are so many addresses."""


class BoardHost:
    """The board of ``netlist`` in a simulator (Verilator), with memory and a host of cocotbext-axi around it.

    For the options see `step.Board`. Raises what `board_design`, `build_board` and `check_places` raise.
    """

    def __init__(
        self,
        netlist: Netlist,
        bus: BusConfig,
        *,
        latency: int = 0,
        pauses: float = 0.0,
        watchdog: int = PATIENCE,
        base: int = 0,
        optimize: bool = True,
        progress: Progress = silent,
    ) -> None:
        check_models()
        board = board_of(netlist, bus, streams=True)
        check_places(places(board, base, {}), {}, board)  # what is known without data
        progress("writing Verilog")
        design = board_design(netlist, bus, streams=True, initial_values=False)
        self.tables: Tables = tables_of(netlist, design)
        self._base = base
        built = build_board(design, optimize=optimize, progress=progress)
        plan = {"masters": bus.masters, "latency": latency, "pauses": pauses, "seed": 1}
        self._simulation = BoardProcess(built, plan)
        self._placed: tuple[PlacedImage, ...] = ()
        self._began = 0.0
        self.set({"watchdog": watchdog, "interrupt_enable": ALL_INTERRUPTS})

    def close(self) -> None:
        """End the simulation."""
        self._simulation.close()

    def start(self, data: BoundInputs, bases: Mapping[str, int]) -> None:
        """Put ``data`` into memory, images at ``bases``, and start; raises what `check_places` raises."""
        given, board = contents(self.tables, data), self.tables.design.board
        least = min(ROOM, (1 << board.bus.address_bits) // (4 * len(board.images)))
        placed = places(board, self._base, {name: len(each) for name, each in given.items()}, least)
        placed = check_places(placed, bases, board)
        ask, settings = self._simulation.ask, dict[str, int]()
        for place in placed:
            settings |= {f"base_{place.name}_low": place.address & 0xFFFF_FFFF}
            settings |= {
                f"base_{place.name}_high": place.address >> 32,
                f"limit_{place.name}": min(place.bytes, MOST_LIMIT),
            }
        empty = bytes(REQUEST * board.beat_bytes)
        lists = {f"{each.name}_list": empty for each in self.tables.streams if not each.stream.is_source}
        ask("put", [(place.address, (given | lists).get(place.name, b"")) for place in placed])
        self.set({name: value for name, value in settings.items() if name in self.tables.addresses})
        self.set({"interrupt": ALL_INTERRUPTS})
        self.set({"control": START})
        self._placed, self._began = placed, time.monotonic()

    def wait(self) -> RunResult:
        """The run that was started, at its end; a run that failed is an error with the ``result``."""
        ask, addresses = self._simulation.ask, self.tables.addresses
        ask("interrupt")
        names = [name for name in addresses if not name.startswith(("control", "base_", "limit_"))]
        found = dict(zip(names, ask("read", [addresses[name] for name in names]), strict=True))
        cycles, program = found["cycles_high"] << 32 | found["cycles_low"], self.tables.netlist.graph.name
        result = RunResult("board", program, Status.FINISHED, cycles, None, {}, {}, time.monotonic() - self._began)
        if error := failure(self.tables, found, self._waits(found)):
            self._reset()
            status = Status.DEADLOCK if isinstance(error, Deadlock) else Status.FAULT
            error.result = replace(result, status=status, error=str(error))
            raise error
        left = ask("get", [(each.address, each.bytes) for each in self._placed])
        images = dict(zip((each.name for each in self._placed), left, strict=True))
        return replace(result, outputs=outputs_of(self.tables, images))

    def set(self, values: Mapping[str, int]) -> None:
        """Write registers, by name."""
        self._simulation.ask("set", [(self.tables.addresses[name], value) for name, value in values.items()])

    def _reset(self) -> None:
        """End a run that failed: until then the fabric goes on, and writes to memory that a host may use again."""
        self.set({"control": RESET})
        while not self._simulation.ask("read", [self.tables.addresses["status"]])[0] & IDLE:
            pass

    def _waits(self, found: Mapping[str, int]) -> list[int]:
        """``wait_edge`` of each channel, where the watchdog fired."""
        edges = []
        for at in range(found["size"] >> 16 if found["fault"] & 0xF else 0):
            self.set({"wait_index": at})
            edges += self._simulation.ask("read", [self.tables.addresses["wait_edge"]])
        return edges
