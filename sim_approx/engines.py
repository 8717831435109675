"""Which engine runs: the compiled one, or the Python one where that can not be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from sim_approx.build import Fabric
from sim_approx.compiled.engine import CompiledEngine
from sim_approx.compiled.rule import RuleError
from sim_approx.engine import Ending, Engine, Events, Told, Watch
from sim_approx.explain.record import Record, RecordingEngine
from step.errors import EnvironmentProblem, FabricError, SettingError

EngineName = Literal["compiled", "python"]


class Runs(Protocol):
    """What both engines do; ``repeats``: whether they can run once more."""

    repeats: bool

    def run(
        self,
        max_cycles: int | None = None,
        events: Events | None = None,
        told: Told | None = None,
        jump: bool = True,
    ) -> Ending:
        """See `sim_approx.engine.Engine.run`; without ``jump`` every repetition of a regular phase is gone through."""


@dataclass(frozen=True)
class Chosen:
    """An engine, its ``name``, and the ``reason`` why it is not the compiled one, if nobody asked for that."""

    name: EngineName
    engine: Runs
    reason: str | None = None


def check_engine(name: EngineName | None) -> None:
    """Raise `FabricError` for what is no engine."""
    if name not in (None, "compiled", "python"):
        raise FabricError(f'engine must be "compiled" or "python", not {name!r}')


def make_engine(
    fabric: Fabric, watch: Watch, name: EngineName | None, *, outputs: bool, record: Record | None = None
) -> Chosen:
    """The engine called ``name``, or the fastest that there is, for one run of ``fabric``.

    ``outputs``: whether the tokens that leave the program are wanted; ``record`` gets what every firing waited for,
    which the Python engine notes. Raises `EnvironmentProblem` where the compiled
    engine was asked for and can not be, with the reason.
    """
    check_engine(name)
    if record is not None:
        if name == "compiled":
            raise FabricError("the compiled engine does not record what firings wait for; the Python engine does")
        recording = RecordingEngine(fabric.machines, fabric.all_channels, fabric.clock, fabric.memory, watch, record)
        return Chosen("python", recording)
    reason = None
    if name != "python":
        try:
            return Chosen("compiled", CompiledEngine(fabric.machines, fabric.all_channels, watch, outputs=outputs))
        except SettingError:
            raise
        except (EnvironmentProblem, RuleError) as error:
            if name == "compiled":
                raise EnvironmentProblem(f"the compiled engine can not run this program: {error}") from error
            reason = str(error)
    engine = Engine(fabric.machines, fabric.all_channels, fabric.clock, fabric.memory, watch)
    return Chosen("python", engine, reason)
