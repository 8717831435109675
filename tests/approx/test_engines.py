"""Which engine runs, and what becomes of bad compilers and caches, of interrupts and of exceptions."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filing import fake_compiler
from same import both

from sim_approx.backend import run
from sim_approx.compiled import library
from sim_approx.compiled.library import Rules, rules_for
from sim_approx.explain.explanation import explain
from step.errors import EnvironmentProblem, InputError, SettingError
from step.functions.cast import Cast
from step.functions.elementwise import Add
from step.functions.select import SelectValid
from step.host.library import BUILDERS, NoLibrary
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.types import Selector, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs
from step.programs.program import Program
from step.running.result import Status

FABRIC = FabricConfig()

NO_RULES = (
    rules_for(frozenset()).text.partition("\nstruct ")[0]
    + """
std::unique_ptr<Machine> make_machine(int64_t, Reader&) { return nullptr; }
"""
)
"""A library that is compiled quickly."""


def line() -> Graph:
    graph = Graph("line")
    graph.source("x", Tile(BF16), [graph.symbol("N")]).map(Cast(BF16)).sink("y")
    return graph


def engine_library() -> str:
    """The file of the engine that tests run on."""
    run(line(), {"x": [1, 2]}, FABRIC, engine="compiled")
    return str(next(iter(library.LOADED.values()))._name)


@pytest.fixture
def fresh() -> Iterator[None]:
    """Libraries are looked for once more."""
    library.LOADED.clear()
    yield
    library.LOADED.clear()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> Path:
    """A cache of its own, in which libraries are compiled in no time."""
    monkeypatch.setenv("STEP_CACHE", str(tmp_path))
    monkeypatch.setattr(library, "FLAGS", ("-std=c++17", "-O0", "-fPIC", "-shared"))
    return tmp_path


def test_the_result_says_which() -> None:
    for engine in ("compiled", "python"):
        result = run(line(), {"x": [1, 2]}, FABRIC, engine=engine)  # type: ignore[arg-type]
        assert (result.engine, result.engine_reason, result.cycles) == (engine, None, 6)
    assert run(line(), {"x": [1, 2]}, FABRIC).engine == "compiled"
    with pytest.raises(InputError, match=r"^engine must be \"compiled\" or \"python\", not 'fast'$"):
        run(line(), {"x": [1, 2]}, FABRIC, engine="fast")  # type: ignore[arg-type]


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    monkeypatch.setenv("STEP_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    result = run(line(), {"x": [1, 2]}, FABRIC)
    reason = "there is no C++ compiler no-such-compiler; install g++, or set CXX"
    assert (result.engine, result.engine_reason) == ("python", reason)
    with pytest.raises(EnvironmentProblem, match=re.escape(f"the compiled engine can not run this program: {reason}")):
        run(line(), {"x": [1, 2]}, FABRIC, engine="compiled")
    text = f"a record of waits is made by the compiled engine alone, and here the Python engine runs: {reason}"
    with pytest.raises(EnvironmentProblem, match=re.escape(text)):
        explain(Program(line(), {"x": [1, 2]}))
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    """A run that waits is told, and one behind which it failed; it is not tried again."""
    monkeypatch.setenv("STEP_CACHE", str(tmp_path / "cache"))
    compiler = fake_compiler(tmp_path, "echo >> $0.runs; echo source.cpp:1: error: out of ink >&2; exit 1")
    monkeypatch.setenv("CXX", compiler)
    reason = f"{compiler} can not compile the engine: source.cpp:1: error: out of ink"
    assert run(line(), {"x": [1, 2]}, FABRIC).engine_reason == reason
    monkeypatch.delenv("STEP_BACKGROUND")
    run(line(), {"x": [1, 2]}, FABRIC)
    for each in BUILDERS.values():
        each._process.wait()
    for _ in range(2):
        assert run(line(), {"x": [1, 2]}, FABRIC).engine_reason == reason
    assert Path(f"{compiler}.runs").read_text() == "\n" * 2
    assert [each.suffix for each in (tmp_path / "cache").iterdir()] == [".lock"]


def test_until_the_engine_is_made_the_other_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None, graph: Graph
) -> None:
    """It is made behind the runs: a short one ends before, a long one begins again, and a record waits for it."""
    ready = engine_library()
    monkeypatch.setenv("STEP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STEP_BACKGROUND")
    script = f'echo >> {tmp_path}/runs; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; cp {ready} "$last"'
    monkeypatch.setenv("CXX", fake_compiler(tmp_path, script))
    library.begin()
    short = run(line(), {"x": [1, 2]}, FABRIC)
    reason = "the engine was not compiled yet; later runs have it"
    assert (short.engine, short.engine_reason, short.cycles) == ("python", reason, 6)
    graph.source("x", Tile(BF16), [graph.symbol("N")]).repeat(30_000_000).sink("y")
    long = run(graph, {"x": [1]}, FABRIC, progress=lambda text: (tmp_path / "go").touch())
    assert (long.engine, long.engine_reason, long.cycles) == ("compiled", None, 30_000_004)
    assert (tmp_path / "runs").read_text() == "\n"
    said: list[str] = []
    monkeypatch.setenv("STEP_CACHE", str(tmp_path / "another"))
    explain(Program(line(), {"x": [1, 2]}), progress=said.append)
    assert said[0] == "compiling the engine, once: some 15 s"


def test_a_cache_that_can_not_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    monkeypatch.setenv("STEP_CACHE", str(tmp_path / "my cache"))
    with pytest.raises(SettingError) as error:
        run(line(), {"x": [1, 2]}, FABRIC)
    text = f"the cache '{tmp_path}/my cache' has a blank in its name: set STEP_CACHE to a path without"
    assert str(error.value) == text


def test_an_exception_of_a_value_function() -> None:
    """It reaches the caller, in whatever run it is raised."""

    class Odd(Exception):
        pass

    class Fails(Cast):
        family = "cast"

        def apply(self, *values: Any) -> Any:
            raise Odd("here")

    graph = Graph("fails")
    graph.source("x", Tile(BF16), [graph.symbol("N")]).map(Fails(BF16)).sink("y")
    with pytest.raises(Odd, match="here"):
        run(graph, {"x": [1, 2]}, FABRIC, values="all", engine="compiled")
    assert run(graph, {"x": [1, 2]}, FABRIC, engine="compiled").cycles == 6


def test_a_run_inside_of_a_run() -> None:
    inner: list[int] = []

    class Runs(Cast):
        family = "cast"

        def apply(self, *values: Any) -> Any:
            inner.append(run(line(), {"x": [1, 2]}, FABRIC, engine="compiled").cycles)
            return super().apply(*values)

    graph = Graph("runs")
    graph.source("x", Tile(BF16), [graph.symbol("N")]).map(Runs(BF16)).sink("y")
    assert run(graph, {"x": [1, 2]}, FABRIC, values="all", engine="compiled").cycles == 6
    assert inner == [6, 6]


def test_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(run, line(), {"x": list(range(count))}, FABRIC, engine="compiled") for count in range(20)]
        assert [each.result().cycles for each in runs] == [count + 4 for count in range(20)]


def test_an_interrupt_stops_a_run(graph: Graph) -> None:
    """One that would go on for a billion cycles."""
    graph.source("x", Tile(BF16), [graph.symbol("N")]).repeat(1_000_000_000).sink("y")
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        run(graph, {"x": [1]}, FABRIC, engine="compiled")
    timer.join()


def test_more_targets_than_a_word_has_bits(cache: Path) -> None:
    targets = 70
    graph = Graph("wide")
    x = graph.source("x", Tile(BF16), [graph.symbol("N")])
    which = graph.source("which", Selector(targets), x.shape)
    graph.reassemble(x.partition(which, targets=targets), which).sink("y")
    chosen = [sorted({n * 29 % targets, n * 31 % targets}) for n in range(targets)]
    netlist = lower(graph, FABRIC)
    data = bind_inputs(netlist.graph, {"x": np.zeros(targets, BF16.numpy), "which": chosen})
    assert both(netlist, data, values="all") == Status.FINISHED


def test_computed_selectors(graph: Graph) -> None:
    n = [graph.symbol("N")]
    x = graph.source("x", Tile(BF16), n).map(Add(), graph.source("z", Tile(BF16), n))
    data, padding = x.reshape(4)
    (real,) = data.partition(padding.map(SelectValid()), targets=1)
    real.sink("y")
    netlist = lower(graph, FABRIC)
    values = np.arange(6, dtype=BF16.numpy)
    assert both(netlist, bind_inputs(netlist.graph, {"x": values, "z": values})) == Status.FINISHED


def test_a_library_that_is_compiled_is_told_of(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    for _ in range(2):
        monkeypatch.setattr(library, "LOADED", {})
        library.library_of(NO_RULES, 1, "g++", str(cache), said.append)
    assert said == ["compiling the engine, once: some 15 s"]


def test_a_library_of_the_package_needs_no_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as all that goes into it is the same."""
    shipped = cache / "shipped"
    monkeypatch.setattr(library, "SHIPPED", shipped)
    monkeypatch.setattr(library, "rules_for", lambda _: Rules(NO_RULES, {}, []))
    for _ in range(2):
        path = library.ship(shipped)
    assert sorted(shipped.iterdir()) == [path.with_suffix(".sha256"), path]
    library.library_of(NO_RULES, 1, "no-such-compiler", str(cache))
    with pytest.raises(NoLibrary, match="there is no C\\+\\+ compiler no-such-compiler"):
        library.library_of(f"{NO_RULES}// changed", 1, "no-such-compiler", str(cache))
    path.unlink()  # this process has it mapped
    path.write_bytes(b"no library")
    library.LOADED.clear()
    with pytest.raises(NoLibrary):
        library.library_of(NO_RULES, 1, "no-such-compiler", str(cache))
