"""A board in a simulator that goes on from run to run, in a process of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
import tempfile
import weakref
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from cosim.building.build import Build, build
from cosim.building.design import load_design
from cosim.running.bench_run import broken_off, simulator_environment
from hw.registers.wrapper import BoardDesign
from step.errors import EnvironmentProblem, FabricError, SimulationError, expect
from step.host.process import spawned
from step.host.progress import Progress, silent
from step.host.texts import write_files

_BENCH = "cosim.board.simulated"


def check_models() -> None:
    """Raise `EnvironmentProblem` where the models of memory and host are not installed."""
    if importlib.util.find_spec("cocotbext") is None or importlib.util.find_spec("cocotbext.axi") is None:
        raise EnvironmentProblem(
            "a board in simulation needs the package cocotbext-axi; install it with: pip install 'step-fabric[board]'"
        )


def build_board(design: BoardDesign, *, optimize: bool = True, progress: Progress = silent) -> Build:
    """The simulator of ``design``, from the cache if it is there.

    Raises what `cosim.building.build.build` raises, and `FabricError` for buses that the models do not have.
    """
    protocol = design.board.bus.protocol
    expect(protocol == "AXI4", f"a board in simulation has buses of AXI4, not of {protocol}", FabricError)
    with tempfile.TemporaryDirectory(prefix="step-board-") as made:
        files, top = {name: text for name, text in design.files.items() if name.endswith(".sv")}, design.top
        write_files(Path(made), files)
        sources = tuple(Path(made) / name for name in files)
        board = replace(load_design(design.fabric.sidecar, Path(made)), module=top.name, verilog=sources, cpp=())
        return build(board, edges=tuple(top.ports), optimize=optimize, progress=progress)


class BoardProcess:
    """The process. ``ask`` does a command of `cosim.board.simulated.BusModels`; `SimulationError` where it breaks off.

    An interruption ends it: what it was asked last would be the answer to the next question.
    """

    def __init__(self, built: Build, plan: dict[str, Any]) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="step-run-"))
        self._log = self._directory / "simulator.log"
        self._connection, other = Pipe()
        environment = {
            **simulator_environment(built, _BENCH, self._directory),
            "STEP_BOARD_CONNECTION": str(other.fileno()),
        }
        with other, self._log.open("wb") as output:
            command, passed = [str(built.executable)], [other.fileno()]
            self._process = spawned(command, stdout=output, cwd=self._directory, env=environment, pass_fds=passed)
        self._end = weakref.finalize(self, _end, self._process, self._connection, self._directory)
        self.ask("begin", plan)

    def ask(self, what: str, given: Any = None) -> Any:
        expect(self._end.alive, "the simulation of the board is over; make another Board", SimulationError)
        try:
            self._connection.send((what, given))
            return self._connection.recv()
        except (EOFError, OSError):
            self._process.wait()
            error = broken_off(self._process.returncode, self._log)
            self.close()
            raise error from None
        except KeyboardInterrupt:
            self._process.kill()
            self.close()
            raise

    def close(self) -> None:
        """End the process; without it that happens with the last reference."""
        self._end()


def _end(process: subprocess.Popen[bytes], connection: Connection, directory: Path) -> None:
    with contextlib.suppress(OSError):
        connection.send(None)
    connection.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    shutil.rmtree(directory, ignore_errors=True)
