"""Builds: the cache, parallel processes, failures, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from designs import DONE, pass_through, payload, write_design
from raising import raising

from cosim.building.build import HARDWARE, bench_text, build
from cosim.building.compiling import NO_OPTIMIZATION, OPTIMIZATION, Common, without_instances
from cosim.building.design import load_design
from cosim.building.steps import tell_compiled
from cosim.building.toolchain import find_toolchain
from cosim.running.bench_run import simulate
from step.errors import BuildError, EnvironmentProblem
from step.host.builds import cache_directory, cached, content_key
from step.host.process import run_logged


@pytest.fixture
def own_cache(tmp_path, monkeypatch) -> Path:
    """A cache for this test alone, which shares Verilator's compiled library with the others."""
    common = cache_directory()
    build(pass_through(tmp_path / "any"))
    path = tmp_path / "cache"
    path.mkdir()
    for shared in (*common.glob("runtime-*"), *common.glob("main-*")):
        if shared.is_dir():
            (path / shared.name).symlink_to(shared)
    monkeypatch.setenv("STEP_CACHE", str(path))
    return path


def entries(cache: Path) -> list[str]:
    """What a cache holds but for locks, the shared library and links to places with blanks."""
    paths = (path for path in cache.iterdir() if path.suffix != ".lock" and not path.is_symlink())
    return sorted(path.name for path in paths if path.name != "links")


def test_the_second_build_is_taken_from_the_cache(tmp_path, own_cache):
    design = pass_through(tmp_path / "my design")  # make and Verilator see no blank
    steps: list[str] = []
    first = build(design, progress=steps.append)
    assert steps == ["verilating", "compiling"]
    second = build(design, progress=steps.append)
    assert (len(steps), second.seconds, second.executable) == (2, 0.0, first.executable)
    assert sorted(path.name for path in first.executable.parent.iterdir()) == [
        "bench.sv", "build.log", "control.vlt", "simulator",
    ]  # fmt: skip


def test_the_key_follows_the_content_and_not_the_place(tmp_path):
    one, same = build(pass_through(tmp_path / "one")), build(pass_through(tmp_path / "two"))
    other = build(pass_through(tmp_path / "three", bits=17))
    assert one.executable == same.executable != other.executable


def class_header(*instances: str) -> str:
    """What Verilator writes of the class of a design with ``instances`` of modules that are functions."""
    names = [f"    Vtop_{module}* const at_{number};" for number, module in enumerate(instances)]
    cells = ["    // CELLS", "    // Public to allow access to /* verilator public */ items.", *names, ""]
    return "\n".join(
        [
            *(
                "class Vtop__Syms;",
                "class Vtop___024root;",
                *(f"class Vtop_{module};" for module in set(instances)),
                "",
            ),
            *("class Vtop : public VerilatedModel {", "    Vtop__Syms* const vlSymsp;", ""),
            *(cells if instances else []),
            *("    Vtop___024root* const rootp;", "};", ""),
        ]
    )


def test_the_main_program_is_the_same_for_all_designs():
    """It knows no instances, but that there is room for them."""
    none = without_instances(class_header())
    assert none == class_header().replace("vlSymsp;\n", "vlSymsp;\n    void* instances[256];\n")
    assert none == without_instances(class_header("silu")) == without_instances(class_header(*["exp"] * 256))
    assert without_instances(class_header(*["exp", "silu"] * 129)) == none.replace("[256]", "[512]")


def test_a_build_for_short_runs_is_another_one(tmp_path, monkeypatch):
    """That of the design: Verilator's library, which takes far longer, is that for short runs here."""
    monkeypatch.delenv("STEP_OPTIMIZE")
    library = Common.runtime
    monkeypatch.setattr(Common, "runtime", lambda self: library(replace(self, optimization=NO_OPTIMIZATION)))
    design = pass_through(tmp_path / "design")
    built = [build(design, optimize=each).executable for each in (True, False)]
    assert [f" {OPTIMIZATION} " in each.with_name("build.log").read_text() for each in built] == [True, False]
    runs = [simulate(design, sources={"a": [payload(1), DONE]}, optimize=each) for each in (True, False)]
    assert runs[0].sinks == runs[1].sinks and runs[0].cycles == runs[1].cycles
    monkeypatch.setenv("STEP_OPTIMIZE", "0")
    assert build(design).executable == built[1]


def test_one_build_serves_all_data(tmp_path):
    design = pass_through(tmp_path)
    runs = [simulate(design, sources={"a": [payload(n)] * n + [DONE]}) for n in (1, 700)]
    assert [run.cycles for run in runs] == [4, 703]


def test_keys_tell_parts_apart():
    assert (
        len({content_key(["ab", "c"]), content_key(["a", "bc"]), content_key(["abc"]), content_key([b"abc", ""])}) == 4
    )


def test_a_failed_build_leaves_nothing_but_its_log(tmp_path, own_cache):
    design = write_design(tmp_path / "bad", "module fabric(input clk, input rst;\nendmodule\n")
    with pytest.raises(BuildError) as error:
        build(design)
    lines = str(error.value).splitlines()
    assert lines[0] == "verilator failed:"
    assert lines[1] == f"  %Error: {tmp_path}/bad/fabric.v:1:35: syntax error, unexpected ';', expecting ','"
    log = Path(lines[-1].removeprefix("full log: "))
    assert "syntax error" in log.read_text()
    assert entries(own_cache) == [log.name]


def test_a_mended_build_removes_the_log(tmp_path, own_cache):
    def fail(directory: Path) -> None:
        own_cache.joinpath("thing.log").write_text("no")
        raise BuildError("no")

    with pytest.raises(BuildError):
        cached("thing", fail)
    assert entries(own_cache) == ["thing.log"]
    cached("thing", lambda directory: None)
    assert entries(own_cache) == ["thing"]


def test_compiler_errors_are_told(tmp_path, own_cache):
    design = pass_through(tmp_path / "bad")
    (design / "model.cpp").write_text("int model() { return missing; }\n")
    text = (design / "fabric.json").read_text().replace('"cpp": []', '"cpp": ["model.cpp"]')
    (design / "fabric.json").write_text(text)
    with pytest.raises(BuildError) as error:
        build(design)
    lines = str(error.value).splitlines()
    assert lines[0] == "make failed:"
    assert lines[1] == f"  {tmp_path}/bad/model.cpp:1:22: error: 'missing' was not declared in this scope"


def test_a_missing_file_is_told(tmp_path):
    design = pass_through(tmp_path)
    (design / "fabric.v").unlink()
    with raising(BuildError, f"{tmp_path}/fabric.v does not exist, but the sidecar names it"):
        build(design)


BUILD_SCRIPT = """
import sys
sys.path[:0] = sys.argv[2:]
from cosim.building.build import build
from step.host.builds import cache_directory
print("started", flush=True)
print(build(sys.argv[1]).seconds > 0)
"""


def start_build(design: Path) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", BUILD_SCRIPT, str(design), root]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_parallel_processes_build_once(tmp_path, own_cache):
    design = pass_through(tmp_path / "design", bits=23)
    processes = [start_build(design) for _ in range(3)]
    built = [process.communicate()[0].splitlines()[-1] for process in processes]
    assert sorted(built) == ["False", "False", "True"]
    assert len(entries(own_cache)) == 1


def test_ctrl_c_ends_the_compilers_and_leaves_nothing(tmp_path, own_cache):
    process = start_build(pass_through(tmp_path / "design", bits=24))
    compilers: list[Path] = []
    while not compilers:
        assert process.poll() is None, "the build ended before it compiled"
        compilers = processes_in(own_cache, "cc1plus")
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert "KeyboardInterrupt" in errors
    assert processes_in(own_cache, "") == []
    assert entries(own_cache) == []


def processes_in(cache: Path, name: str) -> list[Path]:
    """Processes of that name with a working directory below ``cache``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state = (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
            inside = os.readlink(process / "cwd").startswith(str(cache))
            if inside and state != "Z" and name in (process / "comm").read_text():
                found.append(process)
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_ctrl_c_ends_a_process_that_ignores_it(tmp_path):
    def interrupt() -> None:
        raise KeyboardInterrupt

    command = ["sh", "-c", "trap '' TERM INT; while :; do sleep 0.1; done"]
    with pytest.raises(KeyboardInterrupt):
        run_logged(command, tmp_path / "log", directory=tmp_path, environment=os.environ, poll=interrupt)
    assert processes_in(tmp_path, "") == []


def test_a_cache_with_a_blank_in_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("STEP_CACHE", str(tmp_path / "my cache"))
    with pytest.raises(EnvironmentProblem) as error:
        cache_directory()
    assert str(error.value) == (
        f"the cache '{tmp_path}/my cache' has a blank in its name: set STEP_CACHE to a path without"
    )


def test_the_bench_text_is_stable(tmp_path):
    design = load_design(pass_through(tmp_path))
    text = bench_text(design)
    assert text == bench_text(load_design(tmp_path))
    assert 'sim_source #(.NAME("a"), .BITS(20)) a__source' in text
    assert text.endswith("        .probe_fault(probe_fault)\n    );\nendmodule\n")


def test_the_hardware_has_no_lint(tmp_path):
    tools = find_toolchain()
    files = [str(path) for path in HARDWARE if path.suffix == ".sv"]
    for top in ("sim_source", "sim_sink", "sim_memory", "sim_monitor"):
        command = [str(tools.verilator.path), "--lint-only", "-Wall", "--top-module", top, *LINT_OFF, *files]
        done = subprocess.run(command, env=tools.environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


LINT_OFF = ("-Wno-MULTITOP", "-Wno-BLKSEQ")
"""Simulation hardware counts with blocking assignments."""


def test_how_many_files_are_compiled(tmp_path: Path) -> None:
    told: list[str] = []
    tell_compiled(tmp_path, told.append)
    for name in ("a.cpp", "a.o", "b.cpp", "below/c.cpp", "verilator.o"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    tell_compiled(tmp_path, told.append)
    (tmp_path / "Vtop__ALL.cpp").touch()
    tell_compiled(tmp_path, told.append)
    assert told == ["compiling: 1 of 3 files"]
