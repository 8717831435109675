"""`Board`: a program on a board in simulation, which a host runs as often as it likes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cosim.board.failing import failure
from cosim.board.memory import Place, check_places, contents, places
from cosim.board.results import outputs_of
from cosim.board.simulation import Simulation, build_board
from cosim.board.tables import Tables, tables_of
from hw.registers.wrapper import board_design
from step.errors import InputError
from step.host.progress import Progress, silent
from step.lowering.bus import BusConfig
from step.lowering.dma import REQUEST
from step.lowering.fabric import FabricConfig
from step.lowering.registers import PATIENCE
from step.programs.prepare import Inputs, Openable, open_program, prepare
from step.programs.program import Program
from step.running.result import RunResult, Status
from step.running.run import Run

START, RESET, IDLE = 1, 2, 2
ALL_INTERRUPTS = 7
ROOM = 1 << 24
"""Bytes for an image whose size only a run tells."""


@dataclass(frozen=True, repr=False, eq=False)
class BoardRun(Run):
    """A run on a board: outputs, and the cycles that its register counted."""

    @property
    def cycles(self) -> int:
        return self.result.cycles

    def __repr__(self) -> str:
        return f"<run of {self.program.name} on {self.backend}: {self.cycles:,} cycles>"


class Board:
    """``program`` behind AXI4 masters in a simulator (Verilator), with memory and a host of cocotbext-axi around it.

    Runs follow each other as they do in hardware, without a reset of the simulation. ``latency``: cycles that memory
    takes for each word more than it needs; ``pauses``: the share of cycles in which a channel of a bus rests.
    ``watchdog``: cycles without movement after which a run fails.

    Raises what `board_design` and `build_board` raise.

    >>> with Board(program) as board:
    ...     board.run({"x": x}).outputs["y"].numpy()
    """

    def __init__(
        self,
        program: Openable,
        *,
        bus: BusConfig | None = None,
        fabric: FabricConfig | None = None,
        latency: int = 0,
        pauses: float = 0.0,
        watchdog: int = PATIENCE,
        base: int | None = None,
        optimize: bool = True,
        progress: Progress = silent,
    ) -> None:
        self.program: Program = open_program(program, fabric=fabric)
        self.bus = bus or BusConfig()
        netlist = prepare(self.program).netlist
        progress("writing Verilog")
        design = board_design(netlist, self.bus, streams=True, initial_values=False)
        self.tables: Tables = tables_of(netlist, design)
        self._base = 0 if base is None else base
        built = build_board(design, optimize=optimize, progress=progress)
        self._simulation = Simulation(
            built, {"masters": self.bus.masters, "latency": latency, "pauses": pauses, "seed": 1}
        )
        self._started: tuple[Program, tuple[Place, ...], float] | None = None
        self._set({"watchdog": watchdog, "interrupt_enable": ALL_INTERRUPTS})

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation."""
        self._simulation.close()

    def run(self, inputs: Inputs | None = None, *, bases: Mapping[str, int] | None = None) -> BoardRun:
        """Run on ``inputs``, or the program's own, to the end.

        ``bases``: addresses of images, by name; others lie one after the other. Raises `InputError` for data that does
        not fit the program, and for addresses that do not do; a fault as other back ends have it, `Deadlock` with who
        waits for whom, and `SimulationError`.
        """
        self.start(inputs, bases=bases)
        return self.wait()

    def start(self, inputs: Inputs | None = None, *, bases: Mapping[str, int] | None = None) -> None:
        """As `run`, but not to the end; raises `InputError` during a run."""
        if self._started is not None:
            raise InputError("the board is running; wait() for the end of the run before the next start")
        program = open_program(self.program, inputs=inputs)
        data = prepare(program).data
        given = contents(self.tables, data)
        placed = places(self.tables, self._base, self._sizes(given))
        placed = check_places(placed, bases or {}, self.tables.design.board)
        ask, settings = self._simulation.ask, dict[str, int]()
        for place in placed:
            settings |= {f"base_{place.name}_low": place.address & 0xFFFF_FFFF}
            settings |= {f"base_{place.name}_high": place.address >> 32, f"limit_{place.name}": place.bytes}
        empty = bytes(REQUEST * self.tables.design.board.beat_bytes)
        lists = {f"{each.name}_list": empty for each in self.tables.streams if not each.stream.is_source}
        ask("put", [(place.address, (given | lists).get(place.name, b"")) for place in placed])
        self._set({name: value for name, value in settings.items() if name in self.tables.addresses})
        self._set({"interrupt": ALL_INTERRUPTS})
        self._set({"control": START})
        self._started = program, placed, time.monotonic()

    def wait(self) -> BoardRun:
        """The run that was started, at its end; raises as `run` does."""
        if self._started is None:
            raise InputError("the board is not running; start() a run before wait()")
        (program, placed, began), self._started = self._started, None
        ask, addresses = self._simulation.ask, self.tables.addresses
        ask("interrupt")
        names = [name for name in addresses if not name.startswith(("control", "base_", "limit_"))]
        found = dict(zip(names, ask("read", [addresses[name] for name in names]), strict=True))
        cycles = found["cycles_high"] << 32 | found["cycles_low"]
        result = RunResult("board", program.name, Status.FINISHED, cycles, None, {}, {}, time.monotonic() - began)
        if error := failure(self.tables, found, self._waits(found)):
            self._reset()
            error.result = replace(result, status=Status.FAULT, error=str(error))
            raise error
        images = dict(zip((each.name for each in placed), ask("get", [(each.address, each.bytes) for each in placed]),
                          strict=True))  # fmt: skip
        return BoardRun(program, replace(result, outputs=outputs_of(self.tables, images)))

    def _set(self, values: Mapping[str, int]) -> None:
        self._simulation.ask("set", [(self.tables.addresses[name], value) for name, value in values.items()])

    def _reset(self) -> None:
        """End a run that failed: until then the fabric goes on, and writes to memory that a host may use again."""
        self._set({"control": RESET})
        while not self._simulation.ask("read", [self.tables.addresses["status"]])[0] & IDLE:
            pass

    def _waits(self, found: Mapping[str, int]) -> list[int]:
        """``wait_edge`` of each channel, where the watchdog fired."""
        edges = []
        for at in range(found["size"] >> 16 if found["fault"] & 0xF else 0):
            self._set({"wait_index": at})
            edges += self._simulation.ask("read", [self.tables.addresses["wait_edge"]])
        return edges

    def _sizes(self, given: Mapping[str, bytes]) -> dict[str, int]:
        """Of images: what they have, and room where only the run tells."""
        return {
            each.name: len(given[each.name]) if each.name in given else 0 if each.beats else ROOM // 2
            for each in self.tables.design.board.images
        }
