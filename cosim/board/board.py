"""The hardware of one program behind standard buses, in simulation: made once, and run as often as a host likes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cosim.board.driver import BoardHost
from cosim.board.texts import masters_of
from step.errors import InputError
from step.host.progress import Progress
from step.host.watching import watched
from step.language.parameters import settled
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.programs.prepare import Inputs, Openable, open_program, prepare
from step.programs.program import Program
from step.running.backend import options_for
from step.running.run import Run


class Board:
    """``program`` as the board that ``step board`` writes (docs/board.md), in simulation, with memory and a host.

    Runs follow each other as they do in hardware, without a reset of the simulation. They have outputs, and the cycles
    that the board's register counted. ``fabric`` replaces the program's own; ``bus`` is that of the fabric where it has
    one, else ``BusConfig()``. ``latency``: cycles that memory takes for a word besides one; ``pauses``: the share of
    cycles in which a channel of a bus rests; ``watchdog``: cycles without movement after which a run fails, 0: never;
    ``base``: the address from which images lie one after the other; ``optimize=False`` builds faster and runs slower.

    The simulation ends with the last reference to the board, with `close`, or as a context manager. Raises
    `EnvironmentProblem` for what is not installed, `FabricError` for buses that do not suit the program, and
    `BuildError`; warns as `run` does.

    ``progress`` is told what is going on, as that of `run`.
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
        asked = options_for(BoardHost, options, "step.Board")
        settled(bus, BusConfig | None, "bus", InputError)
        self.program: Program = open_program(program, fabric=fabric)
        self.bus: BusConfig = bus or self.program.fabric.memory.bus or BusConfig()
        prepared = prepare(self.program)
        prepared.warn()
        with watched(progress) as telling:
            self._host = BoardHost(prepared.netlist, self.bus, progress=telling, **asked)
        self._started: Program | None = None

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<board of {self.program.name}: {masters_of(self.bus)} of {self.bus.bytes} bytes>"

    def close(self) -> None:
        """End the simulation."""
        self._host.close()

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
        self._host.start(prepare(program).data, bases or {})
        self._started = program

    def wait(self) -> Run:
        """The run that was started, at its end; raises as `run` does."""
        if self._started is None:
            raise InputError("the board is not running; start() a run before wait()")
        program, self._started = self._started, None
        return Run(program, self._host.wait())
