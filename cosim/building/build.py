"""Builds a fabric with its bench into one executable, through the cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cosim.building.design import BenchDesign, load_design
from cosim.building.harness import HELPERS, TOP, bench_text, hardware
from cosim.building.hierarchy import Hierarchy
from cosim.building.steps import run_or_fail, tell_compiled
from cosim.building.toolchain import HINTS, Toolchain, cocotb_libraries, find_toolchain, has_lz4, plain
from cosim.cache.builds import cached, content_key
from step.errors import BuildError, EnvironmentProblem

Progress = Callable[[str], None]

IN_LOOPS = ("--expand-limit", "12")
"""Beyond so many words Verilator copies and chooses in loops, faster and shorter than a line for each word."""

INTERNAL = "Internal Error"
"""What Verilator 5.048 says of some choices between parts of wide words, which it can not put into loops."""

OPTIMIZATION = "-O2 -march=native"
NO_OPTIMIZATION = "-O0"
"""Of the design's code, for long runs and for short ones (`benchmarks/build_speed.py` has random programs). A run gains
a fifteenth against -O1, and a build takes a tenth longer; -O3 gains nothing more."""

SWITCH = "STEP_OPTIMIZE"
"""The environment variable that is 0 where all runs are short ones."""

GROUPS = 8
"""Files of C++ for all small modules together: the compiler takes a third of a second to begin one of its own."""

SMALLEST = 8
"""Places for instances in the class that a main program allocates, as a power of two: a kilobyte or two."""

RUNTIME_PARTS = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")
HEADERS = '#include "verilated.h"\n#include "verilated_dpi.h"\n'
"""What the C++ of all designs begins with; to read it takes longer than to compile a small design."""
_HELPER_OBJECTS = tuple(f"{path.stem}.o" for path in HELPERS)
TRACE_PARTS = {None: (), "vcd": ("verilated_vcd_c",), "fst": ("verilated_fst_c",)}


@dataclass(frozen=True)
class Build:
    """A simulator that is ready to run: ``top`` is its top module, ``seconds`` what the build took (0: cached)."""

    executable: Path
    top: str
    toolchain: Toolchain
    seconds: float


def build(
    origin: BenchDesign | Path | str | Mapping[str, Any],
    *,
    waves: str | None = None,
    edges: Sequence[str] = (),
    optimize: bool = True,
    progress: Progress | None = None,
) -> Build:
    """Build the simulator of a design, or take it from the cache.

    ``waves`` is ``"vcd"`` or ``"fst"`` to be able to record waves. With ``edges`` there is no simulation hardware:
    these ports of the design, and ``clk`` and ``rst``, are the bench's. Without ``optimize``, and where the environment
    has ``STEP_OPTIMIZE=0``, the build is faster, and the run slower. ``progress`` is told what is being done.

    Raises `EnvironmentProblem` for a missing tool, and `BuildError` with the first errors of a failed build.
    """
    design = origin if isinstance(origin, BenchDesign) else load_design(origin)
    toolchain = find_toolchain()
    if waves == "fst" and not has_lz4():
        raise EnvironmentProblem(f"lz4.h is missing: {HINTS['lz4']}")
    optimization = OPTIMIZATION if optimize and os.environ.get(SWITCH) != "0" else NO_OPTIMIZATION
    recipe = _Recipe(design, toolchain, waves, edges, optimization, progress or (lambda text: None))
    started = time.monotonic()
    entry = cached(recipe.name, recipe.make)
    seconds = time.monotonic() - started if recipe.made else 0.0
    return Build(entry / "simulator", recipe.top, toolchain, seconds)


class _Recipe:
    """The recipe of one cache entry."""

    def __init__(
        self,
        design: BenchDesign,
        toolchain: Toolchain,
        waves: str | None,
        edges: Sequence[str],
        optimization: str,
        progress: Progress,
    ) -> None:
        self.toolchain = toolchain
        self.optimization = optimization
        self.waves = waves
        self.progress = progress
        self.made = False
        self.top = design.module if edges else TOP
        missing = [path for path in (*design.verilog, *design.cpp) if not path.is_file()]
        if missing:
            raise BuildError(f"{missing[0]} does not exist, but the sidecar names it")
        self.sources = [*design.verilog, *design.cpp, *(() if edges else hardware(design))]
        hierarchy = Hierarchy.of(design)
        # Waves of separately compiled modules would show nothing but their ports.
        self.hierarchical = hierarchy.worthwhile and not edges and waves is None
        public = ("clk", "rst", *edges) if edges else ()
        self.written = {"control.vlt": hierarchy.control_file(self.hierarchical, public)}
        if not edges:
            self.written["bench.sv"] = bench_text(design)
        self.flags = verilator_flags(self.top, waves, self.hierarchical)
        # Comments name lines of the user's program, which may move.
        parts = [re.sub(rb"\s*//[^\n]*", b"", path.read_bytes()) for path in self.sources]
        self.key = content_key(
            [toolchain.identity, repr((self.flags, IN_LOOPS)), optimization, repr(sorted(self.written.items())), *parts]
        )
        self.name = f"simulator-{self.key}"

    def make(self, directory: Path) -> None:
        """Verilate, compile and link in ``directory``, and leave only the executable and the log."""
        self.made = True
        runtime = cached_runtime(self.toolchain, None, self.optimization, self.progress)
        library = sorted(runtime.glob("verilated*.o"))
        if self.waves is not None:
            library += cached_runtime(self.toolchain, self.waves, self.optimization, self.progress).glob("*.o")
        for file, text in self.written.items():
            (directory / file).write_text(text)
        sources = [str(plain(path)) for path in self.sources]
        verilator = str(self.toolchain.verilator.path)
        self.progress("verilating")
        files = [str(simulator_main()), *self.written, *sources]
        try:
            self._run(directory, [verilator, *self.flags, *IN_LOOPS, *files])
        except BuildError as error:
            if INTERNAL not in str(error):
                raise
            self._run(directory, [verilator, *self.flags, *files])
        self.progress("compiling")
        objects = directory / "objects"
        if self.top == TOP:  # all benches have the same ports, so what knows no more of them is there already
            for each in (
                cached_main(self.toolchain, self.waves, self.optimization, objects),
                *(runtime / name for name in _HELPER_OBJECTS),
            ):
                shutil.copyfile(each, objects / each.name)
        headers = runtime / "headers.h.fast"
        self._run(
            directory,
            [
                *(self.toolchain.make, "-C", "objects", "-f", "Vtop_hier.mk" if self.hierarchical else "Vtop.mk"),
                *("-j", str(len(os.sched_getaffinity(0)))),
                *self.toolchain.make_variables,
                # Without optimization, most of the time goes into headers: one file that includes all reads them once.
                *(["VM_PARALLEL_BUILDS=0"] if self.optimization == NO_OPTIMIZATION else []),
                # A large design has headers of its own, which Verilator precompiles: a compiler takes one such file.
                f"OPT_FAST={self.optimization} $(if $(filter 1,$(VM_PARALLEL_BUILDS)),,-include {headers})",
                f"OPT_SLOW={NO_OPTIMIZATION}",
                *("VM_GLOBAL_FAST=", "VM_GLOBAL_SLOW=", f"USER_LDLIBS={' '.join(map(str, library))}"),
            ],
            partial(tell_compiled, objects, self.progress),
        )
        (directory / "objects" / "Vtop").rename(directory / "simulator")
        shutil.rmtree(directory / "objects")

    def _run(self, directory: Path, command: list[str], poll: Callable[[], None] | None = None) -> None:
        run_or_fail(command, directory, self.toolchain, self.name, poll)


def verilator_flags(top: str, waves: str | None, hierarchical: bool) -> list[str]:
    """Verilator's command line but for the files; the C++ goes to ``objects``.

    Without -fno-dfg it would put signals of the parent in the place of public inputs too (`Hierarchy.control_file`).
    """
    libraries = cocotb_libraries()
    return [
        *("--cc", "--exe", "--vpi", "--prefix", "Vtop", "-Mdir", "objects", "--top-module", top),
        *("-Wno-fatal", "-Wno-lint", "-Wno-style", "--no-timing", "-fno-dfg"),
        *("--output-groups", str(GROUPS)),
        *(["--hierarchical"] if hierarchical else []),
        *({None: [], "vcd": ["--trace"], "fst": ["--trace-fst"]}[waves]),
        *("-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"),
    ]


def simulator_main() -> Path:
    """The C++ main program, which cocotb brings."""
    return cocotb_libraries().parent / "share" / "lib" / "verilator" / "verilator.cpp"


def cached_runtime(toolchain: Toolchain, waves: str | None, optimization: str, progress: Progress) -> Path:
    """The directory with what is the same for all designs of one ``optimization``; with ``waves``: what these need
    more.

    These are the objects of Verilator's own library and of the simulation hardware, and Verilator's headers
    (`HEADERS`), precompiled (``headers.h.fast``); a compiler that can not take these, as where waves are recorded,
    reads the text beside them.
    """
    objects = [f"{part}.o" for part in TRACE_PARTS[waves]]
    if waves is None:
        objects = [*(f"{part}.o" for part in RUNTIME_PARTS), *_HELPER_OBJECTS]
    texts = [path.read_bytes() for path in HELPERS]
    name = f"runtime-{content_key([toolchain.identity, optimization, HEADERS, *objects, *texts])}"

    def make(directory: Path) -> None:
        progress("compiling Verilator's library, once")
        headers = ["headers.h.fast"] if waves is None else []
        for file in ("headers.h", *headers):
            (directory / file).write_text(HEADERS)
        targets = [*objects, *(f"{each}.gch" for each in headers)]
        places = " ".join(sorted({str(plain(path.parent)) for path in HELPERS}))
        _make_shared(toolchain, waves, optimization, directory, targets, f"VPATH += {places}\n", name)

    return cached(name, make)


def cached_main(toolchain: Toolchain, waves: str | None, optimization: str, objects: Path) -> Path:
    """The object of the main program for the verilated design in ``objects``, of which it knows no instances."""
    header = without_instances((objects / "Vtop.h").read_text())
    name = f"main-{content_key([toolchain.identity, optimization, waves or '', header])}"

    def make(directory: Path) -> None:
        (directory / "Vtop.h").write_text(header)
        rules = f"VPATH += {simulator_main().parent}\n"
        _make_shared(toolchain, waves, optimization, directory, ["verilator.o"], rules, name)

    return cached(name, make) / "verilator.o"


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


def _make_shared(
    toolchain: Toolchain,
    waves: str | None,
    optimization: str,
    directory: Path,
    targets: list[str],
    rules: str,
    name: str,
) -> None:
    """Make ``targets`` by Verilator's own rules, with the flags of all designs."""
    kinds = {"": waves is not None, "_VCD": waves == "vcd", "_FST": waves == "fst", "_SAIF": False}
    chosen = [f"VM_{each} = 0" for each in ("COVERAGE", "SC", "TIMING")]
    chosen += [f"VM_TRACE{kind} = {int(used)}" for kind, used in kinds.items()]
    root = toolchain.verilator.root or _installed_root(toolchain)
    header = [f"default: {' '.join(targets)}", f"VERILATOR_ROOT = {root}", *chosen]
    (directory / "Makefile").write_text("\n".join([*header, f"include {root}/include/verilated.mk", rules]))
    jobs = str(len(os.sched_getaffinity(0)))
    levels = (f"OPT_FAST={optimization}", f"OPT_SLOW={NO_OPTIMIZATION}")
    run_or_fail([toolchain.make, "-j", jobs, *toolchain.make_variables, *levels], directory, toolchain, name)


def _installed_root(toolchain: Toolchain) -> Path:
    """VERILATOR_ROOT of a Verilator that was installed."""
    command = [str(toolchain.verilator.path), "--getenv", "VERILATOR_ROOT"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return plain(Path(said.strip()) / "include").parent
