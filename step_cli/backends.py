"""``--backend``, and what has no effect with it."""

from __future__ import annotations

import sys

import click

from step.errors import InputError
from step.lowering.netlist import Netlist
from step.running.backend import able, backend, names
from step_cli.console import talk

backend_option = click.option("--backend", "name", type=click.Choice(names()), default="rtl", show_default=True)

sized_backend_option = click.option(
    "--backend",
    "name",
    type=click.Choice(names()),
    help="Where it runs.  [default: rtl; approx for a program that takes long to build]",
)

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
