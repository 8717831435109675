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
    ours, theirs = compiled.ending, python.ending
    assert (ours.status, ours.cycles) == (theirs.status, theirs.cycles)
    machines = list(zip(compiled.fabric.machines, python.fabric.machines, strict=True))
    for one, other in machines:
        assert ours.activities[one] == theirs.activities[other], other
        assert ours.firings[one] == theirs.firings[other], other
        assert (one.activity, one.firings) == (other.activity, other.firings), other
        assert words(one) == words(other)
    for one, other in zip(compiled.fabric.all_channels, python.fabric.all_channels, strict=True):
        assert ours.entered[one] == theirs.entered[other], other.index
        assert (one.taken, one.peak, len(one.tokens)) == (other.taken, other.peak, len(other.tokens)), other.index
        # Into this one several machines put in the same cycle, in any order: nobody reads it, it is only counted.
        assert one is compiled.fabric.shares.all_pages or texts(one.tokens) == texts(other.tokens), other.index
    number = {machine: place for pair in machines for place in [machines.index(pair)] for machine in pair}
    assert sorted((number[machine], each.fault) for machine, each in ours.faults) == sorted(
        (number[machine], each.fault) for machine, each in theirs.faults
    )
    assert compiled.events == python.events
    assert compiled.fabric.arrivals == python.fabric.arrivals
    assert {name: str(each) for name, each in compiled.faults().items()} == {
        name: str(each) for name, each in python.faults().items()
    }
    assert {name: str(each) for name, each in compiled.checks.broken.items()} == {
        name: str(each) for name, each in python.checks.broken.items()
    }
    if compiled.values == "all":
        assert {name: texts(each) for name, each in compiled.fabric.outputs.items()} == {
            name: texts(each) for name, each in python.fabric.outputs.items()
        }
        tensors = [each.fabric.tensors.outputs() for each in (compiled, python)]
        assert {name: texts(each) for name, each in tensors[0].items()} == {
            name: texts(each) for name, each in tensors[1].items()
        }


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
