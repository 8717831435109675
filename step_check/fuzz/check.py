"""Checks of a program: interpreter, fast model and RTL agree on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from step.errors import EnvironmentProblem, StepError
from step.host.progress import Progress, silent
from step.language.tokens import Token
from step.programs.data.equality import same
from step.programs.prepare import Prepared, prepare
from step.programs.program import Program
from step.running.backend import runner
from step.running.interpreter import interpret
from step.running.result import RunResult

DEADLOCK = "fast model: Deadlock"


class Disagreement(Exception):
    """Back ends that do not agree, or one that fails.

    ``kind`` says what differs, and is the same for programs that fail in the same way; ``where`` is the operator or
    channel, if one is known.
    """

    def __init__(self, kind: str, text: str, where: str | None = None) -> None:
        super().__init__(text)
        self.kind, self.where = kind, where


def check(program: Program) -> RunResult:
    """Interpreter against fast model, whose run is returned: values, and times that do not depend on whether values are
    computed.

    Raises `Disagreement`; its kind is `DEADLOCK` where the channels have too little space, which the interpreter's
    have not.
    """
    prepared = prepare(program)
    with failing("interpreter"):
        interpret(prepared.graph, prepared.data)
    result = _run("fast model", "approx", prepared, values="all")
    _compare_outputs("fast model", prepared, result)
    timed = _run("fast model", "approx", prepared, values="control")
    for what in ("cycles", "operators", "channels", "arrivals", "buffers", "buffer_bytes", "traffic"):
        _compare(f"fast model, without values: {what}", getattr(result, what), getattr(timed, what))
    return result


def check_rtl(program: Program, progress: Progress = silent) -> RunResult:
    """RTL, whose run is returned, against fast model and interpreter: values, the cycle of every token, all counters.

    Raises `Disagreement`, and `EnvironmentProblem` where a tool is missing.
    """
    prepared = prepare(program)
    with failing("interpreter"):
        _ = prepared.data
    exact = _run("RTL", "rtl", prepared, progress, events=True, optimize=False)
    model = _run("fast model", "approx", prepared, events=True)
    assert exact.events is not None and model.events is not None
    _compare("RTL: times", _plain_events(exact), _plain_events(model))
    _compare("RTL: cycles", exact.cycles, model.cycles)
    _compare("RTL: operators", _activities(exact), _activities(model))
    for what in ("channels", "arrivals", "buffers", "buffer_bytes", "traffic"):
        found, wanted = getattr(exact, what), getattr(model, what)
        if what == "arrivals":  # those of which nothing depends on the order are not recorded in RTL
            wanted = {name: wanted[name] for name in found}
        _compare(f"RTL: {what}", found, wanted)
    _compare_outputs("RTL", prepared, exact)
    return exact


@contextmanager
def failing(stage: str) -> Iterator[None]:
    """Failures in the body become a `Disagreement` of ``stage``, as programs are right when they are made.

    What is wrong with the installation is no disagreement.
    """
    try:
        yield
    except (Disagreement, EnvironmentProblem):
        raise
    except Exception as error:
        text = str(error) if isinstance(error, StepError) else f"{type(error).__name__}: {error}"
        raise Disagreement(f"{stage}: {type(error).__name__}", text) from error


def _run(stage: str, name: str, prepared: Prepared, progress: Progress = silent, **options: Any) -> RunResult:
    run = runner(name, options, progress)
    with failing(stage):
        return run(prepared)


def _compare_outputs(stage: str, prepared: Prepared, result: RunResult) -> None:
    """Outputs equal those of the interpreter, which follows the order in which the timed run took its data."""
    with failing("interpreter, in the order of the timed run"):
        meant = interpret(prepared.graph, prepared.data, arrivals=result.arrivals)
    for name, tokens in meant.outputs.items():
        found = (result.outputs or {})[name]
        if not same(found, tokens):
            raise Disagreement(f"{stage}: outputs", f"{name}: {_difference(found, tokens)}", name)


def _difference(found: Sequence[Token], meant: Sequence[Token]) -> str:
    for position, (one, other) in enumerate(zip(found, meant, strict=False)):
        if not same([one], [other]):
            return f"token {position} is {one}, and {other} in the interpreter"
    return f"{len(found)} tokens, and {len(meant)} in the interpreter"


def _compare(kind: str, found: Any, wanted: Any) -> None:
    """Equal, or else the first entry of theirs that is not."""
    if found == wanted:
        return
    if not isinstance(found, Mapping):
        raise Disagreement(kind, f"{found}, and {wanted} in the fast model")
    name = next(each for each in {**found, **wanted} if found.get(each) != wanted.get(each))
    raise Disagreement(kind, f"{name}: {found.get(name)}, and {wanted.get(name)} in the fast model", name)


def _plain_events(result: RunResult) -> dict[str, list[list[int]]]:
    """The cycle and the control of every token, by channel; those that begin to differ first stand in front."""
    events = sorted((result.events or {}).items(), key=lambda pair: min(pair[1].cycles, default=0))
    return {name: np.stack([each.cycles, each.control]).T.tolist() for name, each in events}


def _activities(result: RunResult) -> dict[str, tuple[int, ...]]:
    """Cycles of each activity, by operator; firings are not counted in RTL."""
    return {name: (each.busy, each.starved, each.blocked, each.finished) for name, each in result.operators.items()}
