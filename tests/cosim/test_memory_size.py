"""A memory that no simulation holds is told before anything is built."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from raising import raising

from cosim.running.bench_run import check_memory
from step import INT8, BusConfig, FabricConfig, Graph, MemoryConfig, Program, lower, run
from step.errors import FabricError
from step_cli.verbs.verilog import command as verilog

SAID = (
    "program 'wide' takes 2,621,440,000 bytes of off-chip memory, more than the 2,147,483,647 that a simulation of the "
    "RTL holds; take smaller tensors, or the fast model"
)


def wide() -> Program:
    """Each number is a tile, and on a beat of 64 KiB."""
    graph = Graph("wide")
    graph.load(graph.tensor("x", (40_000, 1), INT8), tile=(1, 1), out=[2], stride=[39_999], name="ld").sink("y")
    fabric = FabricConfig(memory=MemoryConfig(beat_bytes=1 << 16))
    return Program(graph, {"x": np.arange(40_000).reshape(-1, 1) % 100}, fabric=fabric)


def test_a_run_and_a_bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in ("cosim.backend", "step_cli.verbs.verilog"):
        monkeypatch.setattr(f"{module}.design_of", None)
    with raising(FabricError, SAID):
        run(wide(), backend="rtl")
    assert run(wide(), backend="approx").cycles > 0
    assert verilog.callback is not None
    monkeypatch.chdir(tmp_path)
    here = str(Path(__file__).parent)
    Path("wide.py").write_text(
        f"import sys\nsys.path.insert(0, {here!r})\nfrom test_memory_size import wide as program\n"
    )
    with pytest.raises(FabricError) as caught:
        verilog.main(["wide.py", "-o", "out", "--bench"], standalone_mode=False)
    assert str(caught.value) == SAID and not Path("out").exists()


@pytest.mark.parametrize("address_bits", [12, 13])
def test_bases_beyond_the_addresses_of_buses(address_bits: int) -> None:
    """Tensors are small, but each has its place in the memory of a bench."""
    graph = Graph("apart")
    for name in "abc":
        graph.load(graph.tensor(name, (4, 1), INT8), tile=(4, 1), name=f"load_{name}").sink(f"y_{name}")
    memory = MemoryConfig(beat_bytes=32, bus=BusConfig(bytes=32, address_bits=address_bits))
    netlist = lower(graph, FabricConfig(memory=memory))
    if address_bits == 13:
        check_memory(netlist)
        return
    with pytest.raises(FabricError) as caught:
        check_memory(netlist)
    assert str(caught.value) == (
        "program 'apart' takes 6,144 bytes of off-chip memory in a simulation of the RTL, more than bus.address_bits = "
        "12 reach; give more"
    )
