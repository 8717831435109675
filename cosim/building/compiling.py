"""Compiles a simulator: the design with its bench is verilated, compiled and linked; what designs share is kept."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cosim.building.steps import run_or_fail, tell_compiled
from cosim.building.toolchain import Toolchain, cocotb_libraries, plain
from step.errors import BuildError
from step.host.builds import cached, content_key
from step.host.progress import Progress, silent
from step.host.texts import filled, write_files

TOP = "bench"

VERILOG = Path(__file__).parent / "verilog"
HELPERS = (VERILOG / "sim_memory_timing.cpp", VERILOG / "sim_log.cpp")
"""What is C++ of the simulation hardware, and knows nothing of the design."""

IN_LOOPS = ("--expand-limit", "12")
"""Beyond so many words Verilator copies and chooses in loops, faster and shorter than a line for each word."""

INTERNAL = "Internal Error"
"""What Verilator 5.048 says of some choices between parts of wide words, which it can not put into loops."""

OPTIMIZATION = "-O2 -march=native"
NO_OPTIMIZATION = "-O0"
"""Of the design's code, for long runs and for short ones (`benchmarks/build_speed.py` has random programs). A run gains
a fifteenth against -O1, and a build takes a tenth longer; -O3 gains nothing more."""

SMALLEST = 8
"""Places for instances in the class that a main program allocates, as a power of two: a kilobyte or two."""

RUNTIME_PARTS = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")
HEADERS = '#include "verilated.h"\n#include "verilated_dpi.h"\n'
"""What the C++ of all designs begins with; to read it takes longer than to compile a small design."""
_HELPER_OBJECTS = tuple(f"{path.stem}.o" for path in HELPERS)
TRACE_PARTS = {None: (), "vcd": ("verilated_vcd_c",), "fst": ("verilated_fst_c",)}


@dataclass(frozen=True)
class Verilation:
    """Files of a design for Verilator: those that are ``written`` for it, by name, and those that are ``given``.

    ``apart``: whether modules are compiled apart.
    """

    top: str
    apart: bool
    written: dict[str, str]
    given: tuple[Path, ...]
    flags: list[str]

    @property
    def files(self) -> list[str]:
        """All files, those that are written by their names alone."""
        return [str(simulator_main()), *self.written, *(str(plain(path)) for path in self.given)]


def make_simulator(read: Verilation, common: Common, directory: Path, name: str) -> None:
    """Verilate, compile and link in ``directory``, and leave only the executable and the log."""
    run = partial(run_or_fail, directory=directory, toolchain=common.toolchain, name=name)
    runtime, objects = replace(common, waves=None).runtime(), directory / "objects"
    library = sorted(runtime.glob("verilated*.o"))
    if common.waves is not None:
        library += common.runtime().glob("*.o")
    write_files(directory, read.written)
    verilator = [str(common.toolchain.verilator.path), *read.flags]
    common.progress("verilating")
    try:
        run([*verilator, *IN_LOOPS, *read.files])
    except BuildError as error:
        if INTERNAL not in str(error):
            raise
        run([*verilator, *read.files])
    common.progress("compiling")
    if read.top == TOP:  # all benches have the same ports, so what knows no more of them is there already
        for each in (common.main(objects), *(runtime / name for name in _HELPER_OBJECTS)):
            shutil.copyfile(each, objects / each.name)
    headers = runtime / "headers.h.fast"
    variables = [
        # Without optimization, most of the time goes into headers: one file that includes all reads them once.
        *(["VM_PARALLEL_BUILDS=0"] if common.optimization == NO_OPTIMIZATION else []),
        # A large design has headers of its own, which Verilator precompiles: a compiler takes one such file.
        f"OPT_FAST={common.optimization} $(if $(filter 1,$(VM_PARALLEL_BUILDS)),,-include {headers})",
        *(f"OPT_SLOW={NO_OPTIMIZATION}", "VM_GLOBAL_FAST=", "VM_GLOBAL_SLOW="),
        f"USER_LDLIBS={' '.join(map(str, library))}",
    ]
    rules = ["-C", "objects", "-f", "Vtop_hier.mk" if read.apart else "Vtop.mk"]
    run([*common.make, *rules, *variables], poll=partial(tell_compiled, objects, common.progress))
    (objects / "Vtop").rename(directory / "simulator")
    shutil.rmtree(objects)


def simulator_main() -> Path:
    """The C++ main program, which cocotb brings."""
    return cocotb_libraries().parent / "share" / "lib" / "verilator" / "verilator.cpp"


@dataclass(frozen=True)
class Common:
    """Objects that designs have in common, all or those with such ``waves``, kept in the cache."""

    toolchain: Toolchain
    optimization: str
    waves: str | None = None
    progress: Progress = silent

    @property
    def make(self) -> list[str]:
        """The command that runs make."""
        return [self.toolchain.make, "-j", str(len(os.sched_getaffinity(0))), *self.toolchain.make_variables]

    def runtime(self) -> Path:
        """The directory with what is the same for all designs; with ``waves``: what these need more.

        These are the objects of Verilator's own library and of the simulation hardware, and Verilator's headers
        (`HEADERS`), precompiled (``headers.h.fast``); a compiler that can not take these, as where waves are recorded,
        reads the text beside them.
        """
        objects = [f"{part}.o" for part in TRACE_PARTS[self.waves]]
        files, targets = {"headers.h": HEADERS}, objects
        if self.waves is None:
            objects = [*(f"{part}.o" for part in RUNTIME_PARTS), *_HELPER_OBJECTS]
            files, targets = files | {"headers.h.fast": HEADERS}, [*objects, "headers.h.fast.gch"]
        parts: list[str | bytes] = [HEADERS, *objects, *(path.read_bytes() for path in HELPERS)]
        places = sorted({str(plain(path.parent)) for path in HELPERS})
        return self._kept("runtime", "compiling Verilator's library, once", parts, files, targets, places)

    def main(self, objects: Path) -> Path:
        """The object of the main program for the verilated design in ``objects``, of which it knows no instances."""
        header, target = without_instances((objects / "Vtop.h").read_text()), "verilator.o"
        parts, places = [self.waves or "", header], [str(simulator_main().parent)]
        return self._kept("main", "compiling", parts, {"Vtop.h": header}, [target], places) / target

    def _kept(
        self,
        kind: str,
        doing: str,
        parts: Sequence[str | bytes],
        files: Mapping[str, str],
        targets: list[str],
        places: list[str],
    ) -> Path:
        """The entry with ``targets`` that Verilator's own rules make, with the flags of all designs."""
        name = f"{kind}-{content_key([self.toolchain.identity, self.optimization, *parts])}"

        def make(directory: Path) -> None:
            self.progress(doing)
            root = self.toolchain.verilator.root or _installed_root(self.toolchain)
            named = {"targets": targets, "root": root, "waves": self.waves, "places": places}
            write_files(directory, {**files, "Makefile": filled(VERILOG / "runtime.mk.in", **named)})
            levels = [f"OPT_FAST={self.optimization}", f"OPT_SLOW={NO_OPTIMIZATION}"]
            run_or_fail([*self.make, *levels], directory, self.toolchain, name)

        return cached(name, make)


def without_instances(header: str) -> str:
    """``header`` of a design's class with places for instances of modules, a power of two of them, and no names.

    The main program allocates the class, and needs to know no more of it than how large it is at most.
    """
    rest, instances = re.subn(r"^ *Vtop_[a-z]\w*\* const \w+;\n", "", header, flags=re.MULTILINE)
    rest = re.sub(r"^class Vtop_[a-z]\w*;\n| *// CELLS\n( *//.*\n)*\n*", "", rest, flags=re.MULTILINE)
    places = 1 << max(SMALLEST, (instances - 1).bit_length())
    return rest.replace(
        "    Vtop__Syms* const vlSymsp;\n", f"    Vtop__Syms* const vlSymsp;\n    void* instances[{places}];\n"
    )


def _installed_root(toolchain: Toolchain) -> Path:
    """VERILATOR_ROOT of a Verilator that was installed."""
    command = [str(toolchain.verilator.path), "--getenv", "VERILATOR_ROOT"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return plain(Path(said.strip()) / "include").parent
