"""Bad input, and machines that are short of something: the documented exit code and one clear message."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from commanding import ROOT, Step, commanding
from raising import raising

from step import BF16, Graph, Program, Tile
from step.errors import EnvironmentProblem
from step.host.files import cache_directory, tool_environment, write_together, writing_cache
from step.programs.files.json_file import written_by
from step_cli.explained import explained

PROGRAM = """\
from step import BF16, Graph, Program, Tile

def program():
    graph = Graph("small")
    graph.source("x", Tile(BF16), [3]){}.sink("y")
    return Program(graph, {{"x": [1, 2, 3]}}{})

def nothing():
    return []

def empty():
    return Graph("empty")

def endless():
    graph = Graph("endless")
    graph.source("x", Tile(BF16), [3]).promote()
    return Program(graph, {{"x": [1, 2, 3]}})
"""


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Step:
    """Runs the command line where ``p.py`` is the program and nothing else is there."""
    command = commanding(monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    write()
    return command


def write(behind: str = "", more: str = "") -> None:
    """The program, with something ``behind`` its source, and ``more`` for its `Program`."""
    Path("p.py").write_text(PROGRAM.format(behind, more))


BACKENDS = [["check"], *(["run", "--backend", name] for name in ("interpret", "approx", "rtl")), ["compare"]]


# -- files ----------------------------------------------------------------------------------------------------------


@cases(
    ("[" * 100_000 + "]" * 100_000, "p.json is no program: its JSON is nested too deeply"),
    ('{"format": "step-program-3", "written_by": "step-fabric 9.8.7"}',
     f"p.json has the format step-program-3 and was written by step-fabric 9.8.7; this is {written_by()}, "
     "which reads step-program-2: pip install 'step-fabric>=9.8.7'"),
    ('{"format": "step-program-3"}',
     f"p.json has the format step-program-3 and was written by a newer release; this is {written_by()}, which "
     "reads step-program-2: pip install --upgrade step-fabric"),
    ('{"format": "step-program-1"}',
     "p.json has the format step-program-1 of an earlier release; save the program again"),
    ("{}", "p.json: $: 'format' is a required property"),
    ('{"tolerance": 1', "p.json is no JSON: Expecting ',' delimiter: line 1 column 16 (char 15)"),
    ("1" * 5000,
     "p.json is no JSON: Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits; "
     "use sys.set_int_max_str_digits() to increase the limit"),
)  # fmt: skip
def test_json(content: str, message: str, step: Step) -> None:
    Path("p.json").write_text(content)
    assert step("check", "p.json") == (1, "", f"error: {message}\n")


def test_json_says_who_wrote_it(step: Step, graph: Graph) -> None:
    graph.source("x", Tile(BF16), [3]).sink("y")
    Program(graph).save(Path("p.json"))
    assert json.loads(Path("p.json").read_text())["written_by"] == f"step-fabric {version('step-fabric')}"
    assert step("check", "p.json").code == 0
    kinds = "file.py, file.py:function, file.py:function[NUMBER] or file.json"
    assert step("check", "p.json:f") == (1, "", f"error: a program must be {kinds}, not 'p.json:f'\n")


def test_pipes_are_not_waited_for(step: Step) -> None:
    os.mkfifo("x.npz")
    assert step("check", "p.py", "--inputs", "x.npz") == (1, "", "error: 'x.npz' is a pipe, but must be a file\n")


def test_a_device_stays_a_device(step: Step) -> None:
    before = os.stat("/dev/null")
    assert step("show", "p.py", "-o", "/dev/null").code == 0
    assert os.stat("/dev/null").st_rdev == before.st_rdev != 0


def test_a_link_stays_a_link(step: Step) -> None:
    Path("link.svg").symlink_to("drawn.svg")
    assert step("show", "p.py", "-o", "link.svg").code == 0
    assert Path("link.svg").is_symlink() and Path("drawn.svg").is_file() and not Path("drawn.svg").is_symlink()


def test_blanks_and_colons_in_paths(step: Step) -> None:
    directory = Path("a b:c")
    directory.mkdir()
    Path("p.py").rename(directory / "my program.py")
    program, saved = directory / "my program.py", directory / "my result.json"
    assert step("run", f"{program}:program", "--backend", "approx", "--save", saved).code == 0
    assert saved.is_file()
    assert step("inputs", program, "-o", directory / "my data.npz").code == 0
    assert step("check", program, "--inputs", directory / "my data.npz").code == 0


# -- programs -------------------------------------------------------------------------------------------------------


def test_an_empty_list(step: Step) -> None:
    for verb in ("check", "compare"):
        assert step(verb, "p.py:nothing") == (
            1, "", "error: p.py:nothing returns an empty list, so there is no program\n"
        )  # fmt: skip


@pytest.mark.parametrize("command", BACKENDS, ids=" ".join)
def test_an_empty_graph(step: Step, command: list[str]) -> None:
    assert step(command[0], "p.py:empty", *command[1:]) == (1, "", "error: program 'empty' has no operators\n")


@pytest.mark.parametrize("command", BACKENDS, ids=" ".join)
def test_a_program_without_outputs(step: Step, command: list[str]) -> None:
    assert step(command[0], "p.py:endless", *command[1:]).failed().splitlines()[-1] == (
        "error: program 'endless' has no output, so there is nothing to run for; end a stream with .sink(NAME) or "
        ".store(NAME)"
    )


@pytest.mark.parametrize("command", BACKENDS, ids=" ".join)
def test_a_depth_in_the_billions(step: Step, command: list[str]) -> None:
    write(".buffered(10**9)")
    message = (
        "error: sink 'y' (p.py:5): the channel in front of input 0 (x) has 1,000,000,000 slots, which is "
        "16,000,000,000 bits; a channel may have 268,435,456, here 16,777,216 slots\n"
    )
    assert step(command[0], "p.py", *command[1:]) == (1, "", message)


@pytest.mark.parametrize("command", BACKENDS, ids=" ".join)
@cases(
    ("channel_depth=4000000000",
     "channel_depth must be at most 268,435,456, not 4,000,000,000, which is 4,000,000,000 bits"),
    ("vector_lanes=5000000", "vector_lanes must be at most 262,144, not 5,000,000, which is 160,000,000 bits"),
    ("matmul_lanes=5000000", "matmul_lanes must be at most 262,144, not 5,000,000, which is 160,000,000 bits"),
)  # fmt: skip
def test_what_no_fabric_has(setting: str, message: str, step: Step, command: list[str]) -> None:
    assert step(command[0], "p.py", *command[1:], "--set", setting) == (1, "", f"error: {message}\n")


def test_what_can_not_be_expected(step: Step) -> None:
    write(more=", expected={'y': [1, 2]}")
    line = "  p.py:6, in program: return Program(graph, {\"x\": [1, 2, 3]}, expected={'y': [1, 2]})"
    assert step("compare", "p.py") == (1, "", f"error: output 'y' has 3 scalars, but 2 are expected\n{line}\n")


def test_an_expectation_of_a_size_that_only_a_run_tells(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before anything is built."""
    monkeypatch.setattr("cosim.comparing.compare.run_rtl", lambda *_, **__: pytest.fail("it is built"))
    Path("p.py").write_text(PROGRAM.format("", ", expected={'y': [1, 2]}").replace("[3])", '[graph.symbol("N")])'))
    assert step("compare", "p.py") == (1, "", "error: output 'y' has 3 scalars, but 2 are expected\n")


# -- the machine ----------------------------------------------------------------------------------------------------


def test_a_full_disk_keeps_what_was_there(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the data nor the program is replaced, and nothing is left behind."""
    Path("p.json").write_text("before")
    Path("p.npz").write_text("before")
    writing, written = Path.write_bytes, []

    def full(path: Path, data: bytes) -> int:
        written.append(path)
        if len(written) == 2:
            writing(path, data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return writing(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left on device"):
        write_together({Path("p.npz"): b"data", Path("p.json"): b"a program"})
    assert sorted(path.name for path in Path().iterdir()) == ["p.json", "p.npz", "p.py"]
    assert {path.read_text() for path in (Path("p.json"), Path("p.npz"))} == {"before"}


def test_a_file_system_that_can_only_be_read(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before a simulator is built, or anything run."""

    touch = Path.touch

    def locked(path: Path) -> None:
        if path.parent == Path.cwd():
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        touch(path)

    monkeypatch.setattr(Path, "touch", locked)
    monkeypatch.setattr("cosim.running.bench_run.build", lambda *_, **__: pytest.fail("it is built"))
    assert step("run", "p.py", "--waves", "x.vcd") == (
        1, "", "error: waves can not go to x.vcd: Read-only file system\n"
    )  # fmt: skip
    assert step("run", "p.py", "--backend", "approx", "--save", "r.json") == (
        1, "", "error: r.json can not be written: Read-only file system\n"
    )  # fmt: skip


@cases(
    (errno.ENOSPC, "the disk is full, where {} is: make room there, or set STEP_CACHE to another place"),
    (errno.EROFS, "the cache {} can not be written (Read-only file system): set STEP_CACHE"),
    (errno.EACCES, "the cache {} can not be written (Permission denied): set STEP_CACHE"),
)
def test_a_cache_without_room(number: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEP_CACHE", str(tmp_path))
    with pytest.raises(EnvironmentProblem) as error, writing_cache():
        raise OSError(number, os.strerror(number))
    assert str(error.value) == message.format(tmp_path)


def test_a_build_on_a_full_disk_leaves_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cosim.building.steps import run_or_fail
    from cosim.building.toolchain import Toolchain

    monkeypatch.setenv("STEP_CACHE", str(tmp_path))
    tools: Any = type("Tools", (Toolchain,), {"__init__": lambda self: None, "environment": dict(os.environ)})()
    command = ["sh", "-c", "echo 'cc1plus: fatal error: out.o: No space left on device' >&2; exit 1"]
    (tmp_path / "entry").mkdir()
    with pytest.raises(EnvironmentProblem) as error:
        run_or_fail(command, tmp_path / "entry", tools, "simulator")
    text = f"the disk is full, where {tmp_path}/entry is: make room there, or set STEP_CACHE to another place"
    assert str(error.value) == text and not list(tmp_path.glob("*.log"))


def test_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STEP_CACHE", raising=False)
    monkeypatch.setenv("HOME", "")
    with raising(EnvironmentProblem, "there is no home directory to keep the cache in: set STEP_CACHE to a directory"):
        cache_directory()
    monkeypatch.setenv("HOME", "/proc/nowhere")
    with pytest.raises(EnvironmentProblem) as error:
        cache_directory()
    assert str(error.value) == (
        "the cache /proc/nowhere/.cache/step-fabric can not be made (No such file or directory): set STEP_CACHE"
    )
    monkeypatch.setenv("STEP_CACHE", str(tmp_path))
    assert (cache_directory(), tool_environment()["XDG_CACHE_HOME"]) == (tmp_path, f"{tmp_path}/tools")


def test_what_nobody_foresaw(tmp_path: Path) -> None:
    """Of the machine, or else of the toolkit; not a word of the traceback."""
    found = []
    for error in (MemoryError(), OSError(errno.EIO, "Input/output error", "disk"), ValueError("odd")):
        try:
            raise error
        except Exception as caught:
            found.append(explained(caught.with_traceback(None) if not isinstance(caught, ValueError) else caught))
    assert [(each.exit_code, str(each)) for each in found[:2]] == [
        (3, "there is not enough memory for this"),
        (3, "disk: Input/output error"),
    ]


def test_a_defect_of_the_toolkit(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("step_cli.verbs.check.advice", {}.__getitem__)
    head, _, tail = step("check", "p.py").failed(70).partition(" (check.py:")
    assert head.startswith("error: KeyError: ")
    assert tail.partition("): ")[2] == (
        "this is a defect of the toolkit; please report it, with the traceback that the same command shows with "
        "STEP_TRACEBACK=1\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_in_a_users_file(step: Step, number: signal.Signals) -> None:
    Path("slow.py").write_text("import pathlib, time\npathlib.Path('started').touch()\ntime.sleep(60)\n")
    running = subprocess.Popen(
        [sys.executable, "-m", "step", "check", "slow.py"], text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not Path("started").exists():
        time.sleep(0.02)
    running.send_signal(number)
    out, err = running.communicate()
    assert (running.returncode, out, err.strip()) == (130, "", "interrupted")


def test_an_interruption_while_modules_are_loaded(step: Step) -> None:
    """Ctrl-C in the first second: the import that it meets here is the last one before a verb is known."""
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'step_cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from step.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


OUTPUTS = {
    "stdout": (["check", "p.py"], {"stdout": "closed"}, 0),
    "stderr": (["check", "p.py"], {"stderr": "closed"}, 0),
    "everything": (["run", "p.py", "--backend", "approx"], {"stdout": "closed", "stderr": "closed"}, 0),
    "stderr of an error": (["check", "none.py"], {"stderr": "closed"}, 1),
    "all of an error": (["nothing"], {"stdout": "closed", "stderr": "closed"}, 1),
    "a full stderr": (["check", "none.py"], {"stderr": "/dev/full"}, 1),
    "a full stderr of a warning": (["check", "p.py:endless"], {"stderr": "/dev/full"}, 1),
    "a full stdout": (["--help"], {"stdout": "/dev/full"}, 3),
    "a full stdout of a result": (["check", "p.py"], {"stdout": "/dev/full"}, 3),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize(("arguments", "outputs", "code"), OUTPUTS.values(), ids=OUTPUTS)
def test_outputs_that_take_nothing(step: Step, arguments: list[str], outputs: dict[str, str], code: int) -> None:
    """A shell closes them (``>&-``), as daemons do; the exit code is that of what happened."""
    numbers = {"stdout": "1", "stderr": "2"}
    redirected = [f"{numbers[each]}>{'&-' if to == 'closed' else to}" for each, to in outputs.items()]
    command = " ".join(['exec "$0" -m step "$@"', *redirected])
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == code
    if code == 3:
        assert done.stderr == "error: output: No space left on device\n"
    if code == 0 and "stderr" in outputs and "stdout" not in outputs:
        assert done.stdout == "small: ok, 2 operators, 1 streams, 0 warnings\n"


@pytest.mark.parametrize("arguments", [["check", "p.py"], ["--help"]], ids=" ".join)
def test_a_reader_that_went_away(step: Step, arguments: list[str]) -> None:
    reading, writing_end = os.pipe()
    os.close(reading)
    command, environment = [sys.executable, "-m", "step", *arguments], os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, stdout=writing_end, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    os.close(writing_end)
    assert (done.stderr, done.returncode) == ("error: output: Broken pipe\n", 3)
