"""``--backend``, what has no effect with it, and runs of which the tokens are shown."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click

from step.errors import InputError, expect
from step.lowering.netlist import Netlist
from step.programs.prepare import Prepared
from step.running.backend import able, backend, names
from step_cli.console import talk, working
from step_cli.verb import NATURAL

if TYPE_CHECKING:
    from step_show.waves.recording import Recording

BACKENDS = click.Choice(names())

SizedBackend = Annotated[
    str | None, BACKENDS, "Where it runs.  [default: rtl; approx for a program that takes long to build]"
]

LARGE = 500
"""Operators of a program whose RTL takes many minutes to build."""


def sized(netlist: Netlist) -> str:
    """The back end for a program whose user named none: RTL, or the fast model for a large one.

    A user at a terminal is asked, others get a hint.
    """
    count = len(netlist.units)
    if count <= LARGE:
        return "rtl"
    what = f"{count:,} operators take many minutes to build in RTL"
    if sys.stdin.isatty() and sys.stderr.isatty():
        return "approx" if click.confirm(f"{what}; run the fast model, which has the same cycles?", True) else "rtl"
    talk(f"{what}: the fast model runs, which has the same cycles; --backend rtl builds it")
    return "approx"


def check_takes(name: str, need: str, wrong: str) -> None:
    """Raise `InputError`, about what is ``wrong`` then, where the back end ``name`` does not take ``need``."""
    if not backend(name).takes(need):
        others = " or ".join(able(need)) or "another one"
        raise InputError(f"{wrong} with --backend {name}; it needs {others}")


def operator_names(text: str) -> list[str]:
    """The names of operators in ``a,b,c``; raises `InputError` where one is missing, or there twice."""
    found = [each.strip() for each in text.split(",")]
    expect(all(found), f"names of operators must be parted by commas, as in a,b, not {text!r}", InputError)
    for name in found:
        expect(found.count(name) <= 1, f"the operator {name} is there twice in {text!r}", InputError)
    return found


Operators = Annotated[list[str] | None, operator_names, "NAME,NAME,..."]


@dataclass(frozen=True, kw_only=True)
class RecordingOptions:
    """The back end that runs, and the cycles that are shown."""

    backend: Annotated[str, BACKENDS] = "rtl"
    first: Annotated[int, NATURAL, "--from", "CYCLE", "First cycle."] = 0
    last: Annotated[int | None, NATURAL, "--to", "CYCLE", "Last cycle. Default: the end."]

    def record(self, prepared: Prepared) -> Recording:
        """The run of what is ``prepared``, with progress on stderr.

        Raises like `step_show.waves.recording.record`, and `InputError` for a back end that records no tokens.
        """
        from step_show.waves.recording import record

        check_takes(self.backend, "events", "there are no tokens to show")
        with working() as progress:
            return record(prepared, self.backend, self.first, self.last, progress)
