"""Tools that are installed or missing, and what to do about them: plain data for `step doctor`."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict, dataclass
from typing import Any

from cosim.building.toolchain import (
    COCOTB_MINIMUM,
    COMPILER_MINIMUM,
    HINTS,
    MAKE_MINIMUM,
    PERL_MINIMUM,
    SYNTHESIS_MINIMUM,
    VERILATOR_MINIMUM,
    Version,
    find_compiler,
    find_libpython,
    has_lz4,
    package_version,
    program_version,
    show_verilator_version,
    show_version,
    verilator_candidates,
)

PYTHON_MINIMUM: Version = (3, 11)
AMARANTH_MINIMUM: Version = (0, 5)


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

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        state = "ok" if self.ok else "MISSING" if self.required else "optional"
        minimum = f" (>= {self.minimum})" if self.minimum else ""
        hint = f": {self.hint}" if self.hint else ""
        return f"{state:<8} {self.tool}{minimum} {self.found or 'not found'}{hint}"


def diagnose() -> list[Diagnosis]:
    """A finding for each tool, in the order in which a build needs them."""
    return [
        _versioned("python", tuple(sys.version_info[:3]), PYTHON_MINIMUM),
        _versioned("amaranth", package_version("amaranth"), AMARANTH_MINIMUM, "pip install 'amaranth[builtin-yosys]'"),
        _verilator(),
        _program("g++", find_compiler(), COMPILER_MINIMUM),
        _program("make", shutil.which("make"), MAKE_MINIMUM),
        _program("perl", shutil.which("perl"), PERL_MINIMUM),
        _versioned("cocotb", package_version("cocotb"), COCOTB_MINIMUM),
        _present("libpython", find_libpython()),
        _present("lz4", "lz4.h" if has_lz4() else None, required=False),
        _present("dot", shutil.which("dot"), required=False),
        *(_versioned(name, package_version(name), least, required=False) for name, least in SYNTHESIS_MINIMUM.items()),
    ]


def _versioned(
    tool: str, version: Version | None, minimum: Version, hint: str | None = None, *, required: bool = True
) -> Diagnosis:
    ok = version is not None and version >= minimum
    found = show_version(version) if version is not None else None
    return Diagnosis(tool, found, show_version(minimum), ok, required, None if ok else hint or HINTS.get(tool))


def _program(tool: str, path: str | None, minimum: Version) -> Diagnosis:
    return _versioned(tool, program_version(path) if path is not None else None, minimum)


def _present(tool: str, found: str | None, *, required: bool = True) -> Diagnosis:
    ok = found is not None
    return Diagnosis(tool, found, None, ok, required, None if ok else HINTS[tool])


def _verilator() -> Diagnosis:
    """The Verilator that a build would use, or the newest that does not do."""
    minimum = show_verilator_version(VERILATOR_MINIMUM)
    newest: Version = ()
    for place, verilator, version in verilator_candidates():
        if verilator is not None:
            return Diagnosis("verilator", f"{show_verilator_version(verilator.version)} from {place}", minimum, True)
        newest = max(newest, version or ())
    found = show_verilator_version(newest) if newest else None
    return Diagnosis("verilator", found, minimum, False, hint=HINTS["verilator"])
