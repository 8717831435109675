"""Fits whose units have a clock: registers are added, and the fit is made again, until nextpnr finds no slow one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cosim.synthesis.closing import AIM, close
from cosim.synthesis.families.ecp5 import Ecp5
from step.errors import InputError
from step.host.progress import Progress
from step.language.parameters import settled
from step.lowering.fabric import MHZ, Clock
from step.programs.program import Program
from step_explore.fitting.result import Fitted


def at_clock(program: Program, megahertz: float, fit: Callable[[Program], Fitted], progress: Progress) -> Fitted:
    """What ``fit`` makes of ``program`` with hops and stages, such that each unit alone has so many ``megahertz``.

    Raises `InputError` with the unit that does not reach them, `FabricError` for a fabric with a clock of its memory,
    and what `measure` does.
    """
    settled(megahertz, Clock, MHZ, InputError)
    family, registers = Ecp5(target=megahertz * AIM), list[str]()
    family.check()  # before a fit that takes minutes
    fabric = replace(program.fabric, mhz=megahertz)
    while True:
        found = fit(replace(program, fabric=fabric))
        closed = close(found.file().applied(found.program), family, megahertz, whole=False, progress=progress)
        if closed.missed is not None:
            raise InputError(
                f"no fabric was found at mhz={megahertz:g}: {closed.missed}, and no register is left there"
            )
        if not closed.changed:
            return replace(found, program=program, registers=tuple(registers))
        registers += closed.changed
        fabric = replace(fabric, cuts=closed.program.fabric.cuts, hops=closed.program.fabric.hops)
