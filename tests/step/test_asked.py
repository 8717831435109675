"""What is asked of runs: options, names, and files, refused with what would be right before anything is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from raising import raised

import step
from step import FP32, FabricConfig, Graph, Program, Tile
from step.errors import FormatError, InputError, SettingError, StepError, UnknownName
from step.host.files import cache_directory
from step.programs.files.depths import DepthBinding
from step.running.result import RunResult


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing is built, and nothing is left where it should not be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cosim.running.bench_run.build", lambda *_, **__: pytest.fail("it is built"))
    monkeypatch.setattr("cosim.backend.design_of", lambda *_, **__: pytest.fail("it is written"))
    yield tmp_path
    assert not (tmp_path / "gone").exists()


def program() -> Program:
    graph = Graph("sums")
    graph.source("x", Tile(FP32), [4]).sink("y")
    return Program(graph, {"x": [1, 2, 3, 4]})


def ran() -> step.Run:
    return step.run(program(), "approx", values="all")


def told(ask: Callable[[], Any]) -> str:
    """The error of ``ask``, without the working directory."""
    error = raised(StepError, ask)
    return error.replace(f"{os.getcwd()}/", "")


RUN: list[tuple[dict[str, Any], str]] = [
    ({"max_cycles": "a"}, "max_cycles must be an integer >= 1, not 'a'"),
    ({"max_cycles": -1}, "max_cycles must be an integer >= 1, not -1"),
    ({"max_cycles": 0}, "max_cycles must be an integer >= 1, not 0"),
    ({"max_cycles": True}, "max_cycles must be an integer >= 1, not True"),
    ({"max_cycles": 1e3}, "max_cycles must be an integer >= 1, not 1000.0"),
    ({"max_cycles": float("nan")}, "max_cycles must be an integer >= 1, not nan"),
    ({"max_cycles": 2**70}, "max_cycles must be at most 4,611,686,018,427,387,904, not 1,180,591,620,717,411,303,424"),
    ({"events": "no"}, "events must be True or False, not 'no'"),
    ({"progress": 5}, "progress must be a function, not 5"),
    ({"fabric": {}}, "a program's fabric must be a FabricConfig, not {}"),
]


@pytest.mark.parametrize(("options", "message"), RUN)
def test_options_of_all_timed_runs(options: Any, message: str) -> None:
    assert told(lambda: step.run(program(), "rtl", **options)) == message
    assert told(lambda: step.run(program(), "approx", **options)) == message
    if "fabric" not in options:
        assert told(lambda: step.Simulator(program()).run(**options)) == message
    if "events" not in options:
        assert told(lambda: step.compare(program(), **options)) == message


APPROX: list[tuple[dict[str, Any], str]] = [
    ({"jump": "x"}, "jump must be True or False, not 'x'"),
    ({"values": "al"}, 'values must be "control" or "all", not \'al\''),
    ({"engine": "fast"}, 'engine must be "compiled" or "python", not \'fast\''),
    ({"timing_of": 5}, "timing_of must be a function, not 5"),
]


@pytest.mark.parametrize(("options", "message"), APPROX)
def test_options_of_the_fast_model(options: Any, message: str) -> None:
    assert told(lambda: step.run(program(), "approx", **options)) == message
    assert told(lambda: step.Simulator(program(), **options)) == message


DEPTHS: list[tuple[Any, str]] = [
    ([1], "depths must be a dictionary, by name, not [1]"),
    ({"x": 1}, "the depth of channel 'x' must be an integer >= 2, not 1"),
    ({"x": True}, "the depth of channel 'x' must be an integer >= 2, not True"),
    ({"x": 10**30}, f"the depth of channel 'x' must be at most {1 << 40:,}, not {10**30:,}"),
    ({1: 2}, "there is no channel 1; there are x"),
]


@pytest.mark.parametrize(("depths", "message"), DEPTHS)
def test_depths(depths: Any, message: str) -> None:
    assert told(lambda: step.run(program(), "approx", depths=depths)) == message
    assert told(lambda: step.Simulator(program()).attempt(depths=depths)) == message


OTHERS: list[tuple[Callable[[], Any], str]] = [
    # names of options
    (lambda: step.run(program(), "rtl", max_cycle=5),
     "max_cycle has no effect on the back end rtl; did you mean 'max_cycles'? it takes events, max_cycles, waves, "
     "optimize, progress, on_token"),
    (lambda: step.run(program(), "interpret", jump=False),
     "jump has no effect on the back end interpret; it takes on_token"),
    (lambda: step.compare(program(), backend="approx"),
     "backend has no effect on step.compare; it takes max_cycles, waves, optimize"),
    (lambda: step.Simulator(program(), max_cycles=5),
     "max_cycles has no effect on step.Simulator; it takes values, timing_of, engine, jump, symbols"),
    (lambda: step.Simulator(program()).run(depth={"x": 2}),
     "depth has no effect on a run of step.Simulator; did you mean 'depths'? it takes depths, memory, events, "
     "max_cycles, jump, progress, on_token"),
    # names of things
    (lambda: step.run(program(), "aprox"),
     "there is no back end 'aprox'; did you mean 'approx'? there are approx, interpret, rtl"),
    (lambda: step.run(program(), None), "there is no back end None; there are approx, interpret, rtl"),
    (lambda: ran().outputs["z"], "there is no output 'z'; there are y"),
    (lambda: ran().result.outputs["z"], "there is no output 'z'; there are y"),
    (lambda: ran().result.operators["z"], "there is no operator 'z'; there are x, y"),
    (lambda: ran().result.channels[0], "there is no channel 0; there are x"),
    (lambda: ran().operators["bussy"],
     "there is no column 'bussy'; did you mean 'busy'? there are operator, busy, starved, blocked, finished"),
    (lambda: step.interpret(program().graph, program().inputs).outputs["z"], "there is no output 'z'; there are y"),
    # other arguments
    (lambda: step.interpret(program(), {}),
     "a graph must be interpreted, not <program sums: 2 operators, 1 inputs>; "
     'step.run(PROGRAM, "interpret") takes programs'),
    (lambda: step.interpret(program().graph, None),
     "inputs must be data by name, or the name of an .npz file, not None"),
    (lambda: list(step.Simulator(program()).attempts([{}], threads=0)), "threads must be an integer >= 1, not 0"),
    (lambda: list(step.Simulator(program()).attempts([5])), "each of the changes must be a dictionary, by name, not 5"),
    (lambda: list(step.Simulator(program()).attempts({"depths": {}})), "changes must be a list, not {'depths': {}}"),
    (lambda: step.size_fifos(program(), threads=-1), "threads must be an integer >= 1, not -1"),
    (lambda: step.size_fifos(program(), inputs="x.npz"), "inputs must be a list, not 'x.npz'"),
    (lambda: step.size_fifos(program(), bound="x"), "bound must be True or False, not 'x'"),
    (lambda: step.size_fifos(program(), threads=1).within(-1), "loss must be a number >= 0, not -1"),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "message"), OTHERS)
def test_other_things_asked(ask: Callable[[], Any], message: str) -> None:
    assert told(ask).replace("published, ", "") == message  # that back end is installed, or not


def test_a_name_that_is_not_there_is_a_key_error_too() -> None:
    outputs = ran().outputs
    assert outputs.get("z") is None and "z" not in outputs
    with pytest.raises(KeyError) as error:
        outputs["z"]
    assert isinstance(error.value, UnknownName) and isinstance(error.value, InputError)


STAGES = {"fabric.stages": [1, 2]}


@cases(
    ([], {}, "over must be a dictionary, by name, not []"),
    ({"fabric.stages": 5}, {}, "fabric.stages must be a list, not 5"),
    ({"fabric.stages": {1: 2}}, {}, "fabric.stages must be a list, not {1: 2}"),
    ({5: [1]}, {}, "a parameter to sweep over must be a name, not 5"),
    (STAGES, {"jobs": "a"}, "jobs must be an integer >= 1, not 'a'"),
    (STAGES, {"search": -1}, "search must be an integer >= 1, not -1"),
    (STAGES, {"seed": 1.5}, "seed must be an integer >= 0, not 1.5"),
    (STAGES, {"max_cycles": "a"}, "max_cycles must be an integer >= 1, not 'a'"),
    (STAGES, {"objectives": "cycles"}, "objectives must be a list, not 'cycles'"),
    (STAGES, {"settings": "stages=2"}, "settings must be a list, not 'stages=2'"),
    (STAGES, {"save": 5}, "save must be given by its name, a text or a Path, not 5"),
    (STAGES, {"save": "gone/a.csv"}, "gone/a.csv can not be written: there is no directory 'gone'"),
    (STAGES, {"inputs": {"x": [1]}}, "input data must be given by its name, a text or a Path, not {'x': [1]}"),
)
def test_sweeps(over: Any, options: Any, message: str) -> None:
    assert told(lambda: step.sweep(program(), over, **{"jobs": 1, **options})) == message


def test_a_graph_is_swept() -> None:
    assert told(lambda: step.sweep(program().graph, STAGES, jobs=1)) == "there is no input 'x'; the program needs x"


# -- files ----------------------------------------------------------------------------------------------------------

LONG = "a" * 300

UNSAVED: list[tuple[Any, str]] = [
    ("gone/a.json", "gone/a.json can not be written: there is no directory 'gone'"),
    ("noext", "a program must go to a file that ends in .json, not 'noext'"),
    ("p.py", "a program must go to a file that ends in .json, not 'p.py'"),
    ("", "no file can be called ''"),
    ("a\0.json", "no file can be called 'a\\x00.json'"),
    (f"{LONG}.json", f"no file can be called '{LONG[:80]}...'"),
    (None, "a program must be given by its name, a text or a Path, not None"),
    (b"a.json", "a program must be given by its name, a text or a Path, not b'a.json'"),
    ("p.expected.json", "a program can not be called 'p.expected.json': what is expected of 'p.json' has such a name"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "message"), UNSAVED)
def test_programs_are_not_saved(path: Any, message: str) -> None:
    before = os.listdir()
    assert told(lambda: program().save(path)) == message
    assert os.listdir() == before


def test_other_things_are_not_saved() -> None:
    message = "gone/a.json can not be written: there is no directory 'gone'"
    sizing = step.size_fifos(program(), threads=1)
    for save in (ran().save, ran().result.save, sizing.binding(sizing.least).save):
        assert told(lambda save=save: save("gone/a.json")) == message
        assert told(lambda save=save: save(".")) == ". can not be written: Is a directory"
        assert told(lambda save=save: save(5)).endswith(" must be given by its name, a text or a Path, not 5")
    swept = step.sweep(program(), STAGES, jobs=1)
    assert told(lambda: swept.plot("gone/a.svg")) == "gone/a.svg can not be written: there is no directory 'gone'"


def test_what_can_not_be_loaded() -> None:
    os.mkdir("d")
    os.mkfifo("f.json")
    for load in (step.load_program, step.run, step.metrics, step.bind, step.compare, RunResult.load, DepthBinding.load):
        for name, message in (
            ("d", "'d' is a directory, but must be a file"),
            ("f.json", "'f.json' is a pipe, but must be a file"),
            ("no.json", "there is no file 'no.json'"),
        ):
            assert told(lambda load=load, name=name: load(name)) == message
    assert told(lambda: step.load_program(None)) == "a program must be given by its name, a text or a Path, not None"
    assert told(lambda: step.load_program(LONG)) == f"no file can be called '{LONG[:80]}...'"
    assert told(lambda: step.run(program(), "interpret", inputs="d")) == "'d' is a directory, but must be a file"
    program().save("p.json")
    with pytest.raises(FormatError):
        step.load_program("p.json", "no.npz")


@cases(
    ("a.txt", "waves must go to a file that ends in .vcd or .fst, not 'a.txt'"),
    ("a.VCD", "waves must go to a file that ends in .vcd or .fst, not 'a.VCD'"),
    ("gone/a.vcd", "waves can not go to gone/a.vcd: gone is no directory"),
    (5, "waves must be given by its name, a text or a Path, not 5"),
    ("", "no file can be called ''"),
)
def test_waves_that_nobody_can_write(waves: Any, message: str) -> None:
    """Told before anything is written or built."""
    assert told(lambda: step.run(program(), waves=waves)) == message
    assert told(lambda: step.compare(program(), waves=waves)) == message


# -- the environment ------------------------------------------------------------------------------------------------


def test_a_limit_of_the_cache_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    message = "STEP_CACHE_LIMIT: a size must be a number of bytes, KB, MB, GB or TB, such as 500 MB, not 'abc'"
    monkeypatch.setenv("STEP_CACHE_LIMIT", "abc")
    for ask in (
        cache_directory,
        lambda: step.run(program(), "rtl"),
        lambda: step.run(program(), "approx"),
        lambda: step.run(program(), "approx", engine="compiled"),
    ):
        assert raised(SettingError, ask) == message


def test_streams_of_another_graph_of_the_same_name() -> None:
    here, there = Graph("g"), Graph("g")
    x = there.source("x", Tile(FP32), [1])
    feedback = here.feedback(Tile(FP32), [1], name="again")
    end = "reads x of another graph, which is called 'g' as well, so nobody writes it in this one"
    assert told(lambda: here.add(x.promote().graph.nodes["promote_0"].operator, [x])).endswith(end)
    assert told(lambda: feedback.close(x)).endswith(end)


def test_a_fabric_for_the_memory() -> None:
    asked = told(lambda: step.Simulator(program()).run(memory=FabricConfig()))
    assert asked.startswith("memory must be a MemoryConfig, not FabricConfig(")
