"""Two runs that must be one: the compiled engine against the Python engine, in all that is left of a run."""

from __future__ import annotations

from typing import Any

from sim_approx.backend import simulate
from sim_approx.memory.channels import OffChipMemory
from sim_approx.placing.site import TimingOf
from sim_approx.running.model_run import ModelRun, Values
from step.firing.machine import Machine
from step.language.tokens import Token
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs
from step.running.result import Status


def both(
    netlist: Netlist,
    data: BoundInputs,
    *,
    values: Values = "control",
    max_cycles: int | None = None,
    timing_of: TimingOf | None = None,
) -> Status:
    """Run ``netlist`` on both engines; they must agree. Returns how it ended."""
    runs = [
        simulate(netlist, data, values=values, events=True, max_cycles=max_cycles, timing_of=timing_of, engine=engine)
        for engine in ("compiled", "python")
    ]
    compare(*runs)
    return runs[0].ending.status


def compare(compiled: ModelRun, python: ModelRun) -> None:
    """Everything that a run leaves is the same."""
    assert (compiled.engine, python.engine) == ("compiled", "python")
    for ours, theirs in zip(left(compiled), left(python), strict=True):
        assert ours == theirs


def left(run: ModelRun) -> list[Any]:
    """All that is left of a run but how it came there."""
    ending, fabric, machines = run.ending, run.fabric, run.fabric.machines
    kept = {**fabric.outputs, **fabric.tensors.outputs()} if run.values == "all" else {}
    return [
        (ending.status, ending.cycles),
        [ending.firings[each] for each in machines],
        [ending.activities[each] for each in machines],
        [ending.entered[each] for each in fabric.all_channels],
        [(each.activity, each.firings, words(each)) for each in machines],
        [(each.taken, each.peak, len(each.tokens)) for each in fabric.all_channels],
        # Into all pages several machines put in the same cycle, in any order: nobody reads them, they are only counted.
        [texts(each.tokens) for each in fabric.all_channels if each is not fabric.shares.all_pages],
        sorted((machines.index(machine), each.fault) for machine, each in ending.faults),
        events_of(run),
        fabric.arrivals,
        {name: str(each) for name, each in run.faults().items()},
        {name: str(each) for name, each in run.checks.broken.items()},
        {name: texts(each) for name, each in kept.items()},
    ]


def events_of(run: ModelRun) -> dict[str, list[list[int]]] | None:
    """By channel, the cycles in which tokens entered, their control, and the cycles in which they left."""
    events = run.events()
    return events and {name: [each.tolist() for each in vars(of).values()] for name, of in events.items()}


def texts(tokens: Any) -> list[str]:
    """Tokens down to the last bit of their values."""
    return [f"{token.value!r} {token.stop} {token.rank} {token.done}" for token in tokens]


def words(machine: Machine) -> dict[str, str]:
    """The state words of a machine that are control."""
    if isinstance(machine, OffChipMemory):
        return {str(port.number): str(port.granted) for port in machine.ports}
    names = [name for each in type(machine).__mro__ for name in getattr(each, "__slots__", ())]
    found = {name: getattr(machine, name) for name in names if name not in ("order", "since", "asleep")}
    return {
        name: texts([each])[0] if isinstance(each, Token) else str(each)
        for name, each in found.items()
        if isinstance(each, int | Token | None) and name not in ("inputs", "outputs")
    }
