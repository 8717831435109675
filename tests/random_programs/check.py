"""One random program in interpreter and fast model, against the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from meaning.evaluate import Evaluation, difference, evaluate

from random_programs import build
from sim_approx.running.model import simulate
from sim_approx.running.model_run import Values
from step.errors import StepError
from step.language.graph import Graph
from step.language.tokens import Token, from_nested
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import insert_broadcasts, lower
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.running.interpreter import interpret
from step.running.result import RunResult, Status
from step_check.fuzz.program import fabric_of


@dataclass(frozen=True)
class Agreement:
    """What was compared: the operators of a program, the tokens of its streams, and how many of those are empties.

    ``cycles`` are those of the fast model (0: not run), ``roomy`` that the channels needed space for everything.
    """

    operators: tuple[str, ...]
    tokens: int
    empties: int
    cycles: int
    roomy: bool


class Disagreement(AssertionError):
    """Something is not what the oracle says."""


def again(seed: int) -> str:
    """The command that runs a seed again."""
    return f"PYTHONPATH=tests python -m random_programs {seed}"


def check(seed: int) -> Agreement:
    """Raises `Disagreement`, with the seed, where interpreter, fast model and oracle differ.

    A program that deadlocks for want of space in its channels is taken once more with space for everything.
    """
    try:
        return _check(seed)
    except (StepError, AssertionError) as error:
        raise Disagreement(f"seed {seed}: {error}\nagain: {again(seed)}") from error


def _check(seed: int) -> Agreement:
    for roomy in (False, True):
        graph = Graph("random")
        draft = build(seed, graph, roomy=roomy)
        inputs, config = bind_inputs(graph, draft.inputs), fabric_of(draft, seed, roomy=roomy)
        meant = check_interpreter(graph, inputs, {}) if not roomy or graph.feedbacks else evaluate(graph, inputs)
        result = fast(graph, inputs, config, "all")
        if result.status == Status.FINISHED:
            break
        if result.status != Status.DEADLOCK or roomy:
            raise Disagreement(f"the fast model ended in {result.status}, {'with' if roomy else 'without'} space")
    if result.arrivals:
        meant = check_interpreter(graph, inputs, result.arrivals)
    check_outputs("fast model", graph, result.outputs or {}, meant)
    check_traffic(graph, result, meant)
    check_control(graph, inputs, config, result)
    return agreement(graph, meant, result.cycles, roomy)


def check_traffic(graph: Graph, result: RunResult, meant: Evaluation) -> None:
    """Memory ports moved the bytes of the tiles that are ``meant`` to pass there."""
    for node in graph:
        written, read = node.operator.writes(node), node.operator.reads(node)
        streams = [graph.resolve(node.inputs[written.port])] if written is not None else []
        streams += [each for each in graph.streams() if read is not None and each.producer == node.name]
        if read is not None or written is not None:
            tokens = [token for each in streams for token in from_nested(meant.streams[str(each)], each.rank)]
            access = read or written
            wanted = sum(each.has_value for each in tokens) * int(access.tile.bytes)
            if (found := result.traffic[node.name].bytes) != wanted:
                raise Disagreement(f"{node.name} moved {found} bytes instead of {wanted}")


def check_control(graph: Graph, inputs: BoundInputs, config: FabricConfig, result: RunResult) -> None:
    """A run that computes only what decides takes as long as the one with this ``result``."""
    timed = fast(graph, inputs, config, "control")
    for what in ("cycles", "operators", "channels", "arrivals", "buffers", "buffer_bytes", "traffic"):
        if getattr(result, what) != getattr(timed, what):
            raise Disagreement(f"{what} depend on whether values are computed")


def agreement(graph: Graph, meant: Evaluation, cycles: int = 0, roomy: bool = False) -> Agreement:
    """What was compared of a program that means ``meant``."""
    tokens = [token for stream in graph.streams() for token in from_nested(meant.streams[str(stream)], stream.rank)]
    return Agreement(
        operators=tuple(node.operator.name for node in insert_broadcasts(graph)),
        tokens=len(tokens),
        empties=sum(token.is_empty for token in tokens),
        cycles=cycles,
        roomy=roomy,
    )


def fast(graph: Graph, inputs: BoundInputs, config: FabricConfig, values: Values) -> RunResult:
    """A run of the fast model, however it ends."""
    simulation = simulate(lower(graph, config), inputs, values=values)
    if simulation.ending.status == Status.FAULT:
        raise next(iter(simulation.faults().values()))
    return simulation.result()


def check_interpreter(graph: Graph, inputs: BoundInputs, arrivals: Mapping[str, list[int]]) -> Evaluation:
    """Every stream of the interpreter carries what it means, which is returned.

    ``arrivals`` is the order of a timed run; without one a loop has that of the interpreter.
    """
    found = interpret(graph, inputs, record=True, arrivals=arrivals)
    followed = arrivals or (found.arrivals if graph.feedbacks else {})
    meant = evaluate(graph, inputs, followed, found.streams)
    for stream in insert_broadcasts(graph).streams():
        what = difference(found.streams[str(stream)], meant.streams[str(stream)], stream.rank)
        if what is not None:
            raise Disagreement(f"interpreter, {stream}: {what}")
    check_outputs("interpreter", graph, found.outputs, meant)
    return meant


def check_outputs(floor: str, graph: Graph, outputs: Mapping[str, list[Token]], meant: Evaluation) -> None:
    """What leaves the program on ``floor`` is what is ``meant``."""
    for name, nested in meant.outputs.items():
        rank = len(graph.tensors[name].shape) - 1 if name in graph.tensors else graph.nodes[name].inputs[0].rank
        what = difference(outputs[name], nested, rank)
        if what is not None:
            raise Disagreement(f"{floor}, output {name}: {what}")
