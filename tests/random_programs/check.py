"""One random program in interpreter and fast model, against the oracle."""

from __future__ import annotations

from collections.abc import Mapping

from meaning.evaluate import Evaluation, difference, evaluate

from random_programs import OPERATORS
from step.errors import StepError
from step.language.graph import Graph
from step.language.tokens import Token, from_nested
from step.lowering.netlist import insert_broadcasts
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.programs.program import Program
from step.running.interpreter import interpret
from step.running.result import RunResult
from step_check.fuzz.check import DEADLOCK
from step_check.fuzz.check import Disagreement as OfBackEnds
from step_check.fuzz.check import check as check_back_ends
from step_check.fuzz.program import program


class Disagreement(AssertionError):
    """Something is not what the oracle says."""


def again(seed: int) -> str:
    """The command that runs a seed again."""
    return f"PYTHONPATH=tests python -m random_programs {seed}"


def check(seed: int) -> RunResult:
    """The run of the fast model; raises `Disagreement`, with the seed, where it, interpreter and oracle differ.

    A program that deadlocks for want of space in its channels is taken once more with space for everything.
    """
    try:
        try:
            made = program(seed, operators=OPERATORS)
            result = check_back_ends(made)
        except OfBackEnds as error:
            if error.kind != DEADLOCK:
                raise
            made = program(seed, operators=OPERATORS, roomy=True)
            result = check_back_ends(made)
        return check_meaning(made, result)
    except (StepError, OfBackEnds, AssertionError) as error:
        raise Disagreement(f"seed {seed}: {error}\nagain: {again(seed)}") from error


def check_meaning(made: Program, result: RunResult) -> RunResult:
    """Interpreter, and a timed run with this ``result``, make of a program what is meant."""
    graph, inputs = made.graph, bind_inputs(made.graph, made.inputs)
    check_interpreter(graph, inputs, {})
    meant = check_interpreter(graph, inputs, result.arrivals)
    check_outputs("timed run", graph, result.outputs or {}, meant)
    check_traffic(graph, result, meant)
    return result


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
    """Outputs of the program on ``floor`` are as ``meant``."""
    for name, nested in meant.outputs.items():
        rank = len(graph.tensors[name].shape) - 1 if name in graph.tensors else graph.nodes[name].inputs[0].rank
        what = difference(outputs[name], nested, rank)
        if what is not None:
            raise Disagreement(f"{floor}, output {name}: {what}")
