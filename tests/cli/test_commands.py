"""The verbs of the language: what they print where, exit codes, and the text of every complaint."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from textwrap import indent
from typing import Any

import jsonschema
import numpy as np
import pytest
from cases import cases
from commanding import PROGRAMS, ROOT, Step, in_a_process, program
from raising import raising

from step.errors import BuildError, FormatError
from step.lowering.dram import Dram
from step.programs.files.json_file import schema
from step.programs.program import load_program, load_programs
from step_cli.sections import ALIKE, SECTIONS, sections

SIMPLE = "examples/moe_simple.py"
MIXTRAL = "examples/moe_mixtral.py"


small, several, sums, truth = map(program, ("small", "several", "sums", "truth"))


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, step: Step) -> None:
    """Files of programs are in the working directory."""
    monkeypatch.chdir(ROOT / PROGRAMS)


# -- check ----------------------------------------------------------------------------------------------------------


def test_check(step: Step) -> None:
    assert step("check", SIMPLE).ok() == "moe_simple: ok, 29 operators, 33 streams, 0 warnings\n"


def test_check_warns_on_stderr(step: Step, small: Path) -> None:
    result = step("check", small)
    assert result.code == 0
    assert result.out == "small: ok, 4 operators, 3 streams, 1 warnings\n"
    assert result.err == f"warning: promote 'unread' ({small}:11): nobody reads unread; its tokens are dropped\n"


def test_compare_warns_too(step: Step, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **options: Any) -> None:
        raise BuildError("there is no simulator")

    monkeypatch.setattr("cosim.comparing.compare.compared", missing)
    assert step("compare", small).failed(2) == (
        f"warning: promote 'unread' ({small}:11): nobody reads unread; its tokens are dropped\n"
        "error: there is no simulator\n"
    )


def test_check_as_json(step: Step, small: Path) -> None:
    result = step("check", small, "--json")
    warning = f"promote 'unread' ({small}:11): nobody reads unread; its tokens are dropped"
    assert json.loads(result.out) == {
        "program": "small", "operators": 4, "streams": 3, "warnings": [warning], "hints": [],
    }  # fmt: skip


def test_check_looks_at_the_data(step: Step, small: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", x=np.zeros((5, 2)))
    assert step("check", small, "--inputs", tmp_path / "good.npz").code == 0
    np.savez(tmp_path / "bad.npz", x=np.zeros((5, 3)))
    err = step("check", small, "--inputs", tmp_path / "bad.npz").failed()
    assert err == "error: input 'x' must have the dimensions [N, 2], not [5, 3]\n"
    np.savez(tmp_path / "other.npz", z=np.zeros((5, 2)))
    result = step("check", small, "--inputs", tmp_path / "other.npz")
    assert result.err == "error: the program has no tensor or source 'z'; it has x\n"


def test_check_of_a_wrong_program(step: Step, small: Path) -> None:
    assert step("check", f"{small}:mismatch").failed() == (
        f"error: flatten 'flatten_0' ({small}:17): high must be at least 1, but this stream allows at most 0\n"
        f"  input 0: x: [3] of Tile(BF16, 1, 1), from {small}:17\n"
    )


# -- what is no program ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["check", "metrics", "show"])
@cases(
    ("gone.py", "there is no file 'gone.py'"),
    ("examples", "'examples' is a directory, but must be a file"),
    ("pyproject.toml",
     "a program must be file.py, file.py:function, file.py:function[NUMBER] or file.json, not 'pyproject.toml'"),
    (f"{SIMPLE}:gone", f"{SIMPLE} has no function 'gone'; it has expert, program, small"),
    (f"{SIMPLE}:smal", f"{SIMPLE} has no function 'smal'; did you mean 'small'? it has expert, program, small"),
    ("exampels/*.py", "no file matches 'exampels/*.py'"),

)  # fmt: skip
def test_what_is_no_program(spec: str, message: str, step: Step, verb: str) -> None:
    assert step(verb, spec) == (1, "", f"error: {message}\n")


@pytest.mark.parametrize(("choice", "name"), [("sweep[0]", "p2"), ("sweep[2]", "p4"), ("sweep[-1]", "p4")])
def test_one_of_a_list(step: Step, several: Path, choice: str, name: str) -> None:
    assert step("check", f"{several}:{choice}") == (0, f"{name}: ok, 2 operators, 1 streams, 0 warnings\n", "")


@cases(
    ("sweep", "FILE:sweep gives 3 programs, but one is needed here; choose one: FILE:sweep[0]"),
    ("sweep[3]", "FILE:sweep gives 3 programs, [0] to [2], so there is no [3]"),
    ("sweep[-4]", "FILE:sweep gives 3 programs, [0] to [2], so there is no [-4]"),
    ("sweep[x]", "one of a list must be FILE:sweep[NUMBER], not FILE:sweep[x]"),
    ("sweep[1", "one of a list must be FILE:sweep[NUMBER], not FILE:sweep[1"),
)
def test_what_is_none_of_a_list(choice: str, message: str, step: Step, several: Path) -> None:
    assert step("check", f"{several}:{choice}") == (1, "", f"error: {message.replace('FILE', str(several))}\n")


def test_a_pattern_stands_for_all_files_that_match(several: Path, tmp_path: Path) -> None:
    """By name, and every one of a list; a file that is called like a pattern is itself."""
    text = several.read_text()
    for name, letter in (("b", "p"), ("a", "q"), ("c[1]", "r")):
        (tmp_path / f"{name}.py").write_text(text.replace("p{", f"{letter}{{"))
    found = load_programs(f"{tmp_path}/[ab].py:sweep")
    assert [each.name for each in found] == ["q2", "q3", "q4", "p2", "p3", "p4"]
    assert [each.name for each in load_programs(f"{tmp_path}/*.py:sweep[1]")] == ["q3", "p3", "r3"]
    assert [each.name for each in load_programs(f"{tmp_path}/c[1].py:sweep[0]")] == ["r2"]


def test_a_path_is_as_good_as_its_text(several: Path, tmp_path: Path) -> None:
    assert [each.name for each in load_programs(Path(f"{several}:sweep"))] == ["p2", "p3", "p4"]
    with raising(FormatError, f"there is no file '{tmp_path}/none.py'"):
        load_program(tmp_path / "none.py")


# -- options --------------------------------------------------------------------------------------------------------

KNOWN = (
    "dynamic_rows, matmul_lanes, vector_lanes, stages, link_bytes, channel_depth, block_ram_words, outstanding, "
    "scratchpad_bytes, scratchpad_banks, scratchpad_ports, page_bytes, arithmetic, hop, "
    "memory.beat_bytes, memory.channels, memory.interval, memory.latency, memory.interleave"
)
ALL = (
    f"{KNOWN}, memory, machine, mhz, memory.bandwidth, memory.masters, lanes.OPERATOR, links.OPERATOR, cuts.OPERATOR, "
    "hops.CHANNEL"
)


def test_a_short_name_of_a_setting_works_with_a_hint(step: Step) -> None:
    result = step("check", SIMPLE, "--set", "stages=2", "--set", "memory.latency=3", "--set", "fabric.link_bytes=8")
    assert (result.code, result.err) == (0, "warning: --set stages=2 is understood as --set fabric.stages=2\n")


@pytest.mark.parametrize("verb", ["check", "metrics", "run", "show", "fifos", "explain", "tokens"])
def test_arguments_reach_the_function(step: Step, sums: Path, verb: str) -> None:
    options = {"run": ("--backend", "approx"), "explain": ("--no-what-if",)}.get(verb, ())
    wanted = step(verb, sums, *options)
    assert wanted.code == 0, wanted.err
    assert step(verb, sums, "--arg", "rows=2", *options) == wanted
    found = step(verb, sums, "--arg", "rows=5", "--arg", "name=other", *options)
    assert found.code == 0 and found.out != wanted.out


@pytest.mark.parametrize("text", ["true", "True", "false", "False"])
@pytest.mark.parametrize("verb", ["check", "run"])
def test_truth_values(step: Step, truth: Path, verb: str, text: str) -> None:
    assert step(verb, truth, "--arg", f"dynamic={text}", "--arg", f"plain={text}").code == 0
    shown = json.loads(step("show", truth, "--json", "--arg", f"dynamic={text}", "--arg", f"plain={text}").out)
    assert shown["name"] == f"{text.title()}_{text.title()}"


DRAM = ", ".join(f"memory.dram.{each.name}" for each in fields(Dram))

SETTINGS = [
    ("link_bytes=48", "link_bytes must be a power of two, not 48"),
    ("link_bytes=0", "link_bytes must be an integer >= 1, not 0"),
    ("link_bytes=1048576", "link_bytes must be at most 65,536, not 1,048,576, which is 8,388,608 bits"),
    ("stages", "a fabric parameter must be NAME=VALUE, not 'stages'"),
    ("lanes=4",
     "fabric has no parameter 'lanes'; did you mean 'matmul_lanes' or 'vector_lanes' or 'lanes.OPERATOR'? "
     f"it has {ALL}"),
    ("fabric.lanes.y=0", "lanes.y must be an integer >= 1, not 0"),
    ("lanes.y=1000000", "lanes.y must be at most 262,144, not 1,000,000"),
    ("links.y=0", "links.y must be an integer >= 1, not 0"),
    ("links.y=12", "links.y must be a power of two, not 12"),
    ("cuts.y=9", "cuts.y must be at most 8, not 9"),
    ("fabric.links.y=131072", "links.y must be at most 65,536, not 131,072"),
    ("matmul_lane=4", f"fabric has no parameter 'matmul_lane'; did you mean 'matmul_lanes'? it has {ALL}"),
    ("memory.bandwidth=100",
     "memory.bandwidth must be the 64 bytes a cycle of a channel times 1, 2, 4, ..: 64 or 128, not 100"),
    ("memory.bandwidth=2", "memory.bandwidth must be the 64 bytes a cycle of a channel times 1, 2, 4, ..: 64, not 2"),
    ("memory.bandwidth=fast", "memory.bandwidth must be a number above 0, not 'fast'"),
    ("memory.bandwidth=131072", "memory.channels must be at most 1,024, not 2,048"),
    ("memory=HBM2",
     "memory must be one of plain, hbm2, hbm2_2gb, ddr4, hbm3, hbm3e, hbm2_alveo, hbm2e_alveo, not 'HBM2'"),
    ("memory.dram=hbm2", f"fabric has no parameter 'memory.dram'; it has {ALL}"),
    ("memory.dram.trcd=4", f"fabric has no parameter 'memory.dram.trcd'; it has {ALL}"),
    ("memory.latency=-1", "memory.latency must be an integer >= 1, not -1"),
    ("memory.latency=1000000000000", "memory.latency must be at most 1,048,576, not 1,000,000,000,000"),
    ("memory.latency=--1", "memory.latency must be an integer >= 1, not '--1'"),
    ("memory.interleave=3", "memory.interleave must be a power of two, not 3"),

    ("stages.rows=4", f"fabric has no parameter 'stages.rows'; it has {ALL}"),
    ("stages=abc", "stages must be an integer >= 1, not 'abc'"),
    ("stages=²", "stages must be an integer >= 1, not '²'"),
    ("stages=0", "stages must be an integer >= 1, not 0"),
    ("stages=1.5", "stages must be an integer >= 1, not '1.5'"),
    ("stages=9", "stages must be at most 8, not 9"),
    ("matmul_lanes=0", "matmul_lanes must be an integer >= 1, not 0"),
    ("vector_lanes=-1", "vector_lanes must be an integer >= 1, not -1"),
    ("channel_depth=1", "channel_depth must be an integer >= 2, not 1"),
    ("memory.channels=3", "memory.channels must be a power of two, not 3"),
    ("scratchpad_banks=3", "scratchpad_banks must be a power of two, not 3"),
    ("page_bytes=0", "page_bytes must be an integer >= 1, not 0"),
    ("scratchpad_bytes=3000", "scratchpad_bytes must be a multiple of page_bytes = 1024, not 3000"),
    ("scratchpad_bytes=1099511627776",
     "scratchpad_bytes must be at most 33,554,432, not 1,099,511,627,776, which is 8,796,093,022,208 bits"),
    ("arithmetic=fast", 'arithmetic must be "rtl" or "model", not \'fast\''),
]  # fmt: skip
SETTINGS_OF_DRAM = [
    ("memory.dram.trcd=nan", "memory.dram.trcd must be an integer >= 1, not 'nan'"),
    ("memory.dram.trefi=-1", "memory.dram.trefi must be an integer >= 1, not -1"),
    ("memory.dram.cl=1.5", "memory.dram.cl must be an integer >= 1, not '1.5'"),
    ("memory.dram.banks=12", "memory.dram.banks must be a power of two, not 12"),
    ("memory.dram.banks=2", "memory.dram.bank_groups must be at most banks = 2, not 4"),
    ("memory.dram.trefi=274", "memory.dram.trefi must be more than trfc + trp = 274, not 274"),
    ("memory.beat_bytes=4096", "memory.beat_bytes must be at most memory.dram.row_bytes = 2048, not 4096"),
    ("memory.dram.group_beats=64", "memory.dram.group_beats must be at most the 32 beats of a row, not 64"),
    ("memory.dram.rcd=4",
     "fabric has no parameter 'memory.dram.rcd'; did you mean 'memory.dram.trcd'? "
     f"it has {KNOWN}, {DRAM}, {ALL.removeprefix(KNOWN + ', ')}"),
]  # fmt: skip
ARGUMENTS = [
    ("rows", "an argument must be NAME=VALUE, not 'rows'"),
    ("=2", "an argument must be NAME=VALUE, not '=2'"),
    ("rows=", "an argument must be NAME=VALUE, not 'rows='"),
    ("rowz=2", "sums.py:program has no parameter 'rowz'; did you mean 'rows'? it has rows, name"),
]
VALUES = [
    ("dynamic=yes", "dynamic to be true or false, not 'yes'"),
    ("dynamic=1", "dynamic to be true or false, not 1"),
    ("plain=TRUE", "plain to be true or false, not 'TRUE'"),
    ("count=true", "count to be an integer, not True"),
    ("count=2.5", "count to be an integer, not 2.5"),
    ("count=two", "count to be an integer, not 'two'"),
    ("scale=much", "scale to be a number, not 'much'"),
    ("depth=true", "depth to be a number, not True"),
]


@cases(
    *((("check", "sums.py", "--set", setting), message) for setting, message in SETTINGS),
    *((("check", "sums.py", "--set", "memory=hbm2", "--set", each), message) for each, message in SETTINGS_OF_DRAM),
    *((("check", "sums.py", "--arg", argument), message) for argument, message in ARGUMENTS),
    *(
        ((verb, "truth.py", "--arg", argument), f"truth.py:program needs {message}")
        for argument, message in VALUES
        for verb in ("check", "run")
    ),
    *(
        (("metrics", "small.py", "--bind", each), f"a binding must be NAME=VALUE with an integer >= 0, not {each!r}")
        for each in ("N", "N=", "N=x", "N=-1", "N=1.5")
    ),
    (("metrics", "small.py", "--bind", "M=3"), "the program has no symbol 'M'; it has N"),
    (("metrics", "small.py", "--data"), "--data needs input data, but the program has none; give --inputs FILE.npz"),
    (("check", "sums.py", "--arg", "rows=2", "--arg", "rows=3"), "the argument rows is given twice"),
    (("check", "small.py", "--arg", "N=2"),
     "small.py:program has no parameter 'N'; it has none, as def program(N=..) has"),
    (("check", "sums.py", "--set", "batch=2"),
     f"fabric has no parameter 'batch'; it has {ALL}\n"
     "  an argument of the program's function is written --arg batch=VALUE"),
    (("show", "small.py", "--set", "fabric.channel_depth=4", "--json"),
     "--set has no effect with --json, which shows the graph alone"),
    (("show", "small.py", "--set", "depth=4"),
     f"fabric has no parameter 'depth'; did you mean 'channel_depth'? it has {ALL}"),
)  # fmt: skip
def test_bad_options(arguments: tuple[str, ...], message: str, step: Step, programs: None) -> None:
    assert step(*arguments) == (1, "", f"error: {message}\n")


def test_a_link_that_is_wider_than_needed(step: Step, small: Path) -> None:
    """The default is no reason for a hint, however small the values are."""
    assert step("check", small, "--set", "fabric.link_bytes=64").err.count("hint") == 0
    hint = "link_bytes=512 is wider than anything that this program sends; link_bytes=2 is as fast"
    assert step("check", small, "--set", "fabric.link_bytes=512").err.splitlines()[-1] == f"hint: {hint}"
    assert json.loads(step("check", small, "--json", "--set", "fabric.link_bytes=512").out)["hints"] == [hint]


def test_a_fused_sum_with_terms_to_spare(step: Step, tmp_path: Path) -> None:
    path = tmp_path / "spare.py"
    path.write_text(
        "from step import BF16, Graph, Program, Tile\n"
        "from step.functions import Matmul, RowSum\n"
        "def program():\n"
        "    graph = Graph('spare')\n"
        "    x, w = (graph.source(name, Tile(BF16, *size), [2]) for name, size in (('x', (2, 20)), ('w', (20, 8))))\n"
        "    y = x.map(Matmul(sum='fused'), w, name='product')\n"
        "    y.map(RowSum(sum='fused', terms=8), name='sums').sink('y')\n"
        "    return Program(graph)\n"
    )
    assert step("check", path).err.splitlines()[-1:] == [
        f"hint: map 'product' ({path}:6): 20 terms are no multiple of the 16 that are added at once, so the last "
        "sum has 12 zeros"
    ]


def test_lanes_that_wait_for_tiles(step: Step) -> None:
    """A product makes a tile in 64 cycles, of which an activation needs 4; a fabric that was fitted is not told so."""
    told = step("check", "examples/swiglu.py").err.splitlines()
    (hint,) = [each for each in told if each.startswith("hint: ")]
    assert re.fullmatch(
        r"hint: map 'activation' \(\S+swiglu.py:\d+\): its 16 lanes work for 4 of 64 cycles at most, as tiles come no "
        "faster; 1 more waits likewise; step fit finds the lanes that each operator needs",
        hint,
    )
    fitted = ("--set", "lanes.activation=1", "--set", "lanes.gated=1")
    assert "hint" not in step("check", "examples/swiglu.py", *fitted).err


def test_settings_reach_the_program(step: Step, small: Path) -> None:
    found = [
        json.loads(step("metrics", small, "--json", "--set", setting).out)["metrics"]["channel_bytes"]
        for setting in ("fabric.channel_depth=2", "fabric.channel_depth=7")
    ]
    # x -> broadcast, two copies, flat -> y: four channels of two bytes a slot, of which one is a reference
    assert found == [2 * 6, 7 * 6]


def test_a_missing_binding(step: Step) -> None:
    head, line = step("metrics", SIMPLE, "--bind", "route_D0=3", "--bind", "in_order_flat=10").failed().splitlines()
    assert head == "error: these symbols have no value; bind them with NAME=VALUE or give input data:"
    assert line.startswith("  route_D1: from 'route' (examples/moe_simple.py:")


VERBS = (
    "board, cache, calibrate, check, compare, doctor, explain, fifos, fit, fuzz, generate, help, import, inputs, map, "
    "metrics, place, run, schema, show, sweep, synth, tokens, tune, verilog, waves"
)


@cases(
    (["check"], "missing argument 'PROGRAM'"),
    (["nothing"], f"there is no verb 'nothing'; there are {VERBS}"),
    (["chek"], f"there is no verb 'chek'; did you mean 'check'? there are {VERBS}"),
    (["check", SIMPLE, "--nothing"], "no such option '--nothing'"),
    (["check", SIMPLE, "--inputs", "gone.npz"], "invalid value for '--inputs': File 'gone.npz' does not exist"),
    (["metrics", SIMPLE, "--accounting", "mine"],
     "invalid value for '--accounting': 'mine' is not one of 'paper', 'artifact'"),
    (["show", SIMPLE, "--format", "gif"],
     "invalid value for '--format': 'gif' is not one of 'text', 'dot', 'svg', 'png', 'pdf'"),
)  # fmt: skip
def test_wrong_usage(arguments: list[str], message: str, step: Step) -> None:
    """It looks like all errors, and says where it stands how the verb is written."""
    verb = f"{arguments[0]} " if arguments[0] in VERBS.split(", ") else ""
    assert step(*arguments).failed() == f"error: {message}\n  see step {verb}--help\n"


@cases(
    (["help", "nothing"], f"there is no topic 'nothing'; there are {VERBS}, write, explore, hardware, models, toolkit"),
    (["help", "cache", "lean"], "there is no topic 'lean'; did you mean 'clean'? there are clean, list"),
    (["help", "run", "explore"], "there is no topic 'explore'; there are none"),
)
def test_what_is_no_topic(arguments: list[str], message: str, step: Step) -> None:
    assert step(*arguments).failed() == f"error: {message}\n"


def test_help_is_that_of_the_verb(step: Step) -> None:
    assert step("help", "fit").ok() == step("fit", "--help").ok()
    assert step("help", "cache", "clean").ok() == step("cache", "clean", "--help").ok()
    assert step("help").ok() == step("--help").ok()


def test_help_of_a_group(step: Step) -> None:
    group, which = step("help", "explore").ok().split("\n\n")
    assert group.startswith("Explore (step sweep program.py --over memory.channels=1,2,4):\n  sweep  Run a program ")
    assert f"\n\n{group}\n\nHardware (step verilog program.py -o build):\n" in step("--help").ok()
    assert which == (
        "Which one to take:\n"
        "  sweep  you name the values: every point runs as it is\n"
        "  tune   you name a budget: values are looked for, each with fitted hardware\n"
        "  fit    the program stays: its lanes, links and memories get smaller\n"
        "  fifos  program and hardware stay: how deep the FIFOs have to be\n"
        "  map    the program is a module of PyTorch: its tiles, and the hardware\n"
    )
    for verb in ALIKE:
        assert step(verb, "--help").ok().endswith("\n\n" + indent(which, "  "))


def test_every_verb_is_in_a_group_and_fits_80_columns(step: Step) -> None:
    """A verb of another package has a group of its own, with the others."""
    names = [name for _, names in SECTIONS.values() for name in names.split()]
    assert sorted(names) == VERBS.split(", ")
    assert list(sections([*names, "mine"]))[-1] == ("Of other packages", "step mine --help", ["mine"])
    assert max(map(len, step("--help").ok().splitlines())) <= 80


@cases(
    (["waves", SIMPLE, "--operators=nothing"], "--operators of step waves is called --of"),
    (["compare", "gone.py", "--operators"], "--operators of step compare is called --all"),
    (["map", "gone.pt2", "--luts=1", "--ram=1kB"], "--ram of step map is called --memory-bytes"),
)
def test_a_former_name_of_an_option_still_does(arguments: list[str], said: str, step: Step) -> None:
    first, second, *_ = step(*arguments).failed().splitlines()
    assert first == f"hint: {said} now"
    assert second.startswith("error: there is no ")


# -- metrics --------------------------------------------------------------------------------------------------------


def test_metrics_as_expressions(step: Step, small: Path) -> None:
    result = step("metrics", small)
    assert result.code == 0
    assert result.out.splitlines() == [
        "off_chip_bytes = 4*N", "on_chip_bytes = 4", "flops = 0", "channel_bytes = 12", "load_bytes = 0",
        "useful_flops = 0", "intensity = 0", "useful_intensity = 0"
    ]  # fmt: skip
    assert result.err == (
        f"warning: promote 'unread' ({small}:11): nobody reads unread; its tokens are dropped\n"
        "symbols: N; give values with --bind NAME=VALUE or --data\n"
    )


def test_metrics_with_a_value(step: Step, small: Path) -> None:
    result = step("metrics", small, "--bind", "N=300", "--json")
    assert json.loads(result.out) == {
        "program": "small",
        "accounting": "paper",
        "metrics": {
            "off_chip_bytes": 1200, "on_chip_bytes": 4, "flops": 0, "channel_bytes": 12, "load_bytes": 0,
            "useful_flops": 0, "intensity": 0, "useful_intensity": 0,
        },
        "at_most": [],
        "symbols": {"N": 300},
    }  # fmt: skip


def test_metrics_as_a_table(step: Step, small: Path) -> None:
    result = step("metrics", small, "--bind", "N=300", "--accounting", "artifact")
    assert result.code == 0 and "small (artifact accounting)" in result.out
    rows = [line.split() for line in result.out.splitlines()[1:]]
    assert rows[:3] == [["metric", "value", "unit"], ["off_chip_bytes", "1,200", "B"], ["on_chip_bytes", "2", "B"]]


def test_a_binding_goes_before_data(step: Step) -> None:
    result = step("metrics", f"{MIXTRAL}:dynamic", "--data", "--bind", "route_D0=99", "--json")
    assert json.loads(result.out)["symbols"]["route_D0"] == 99


# -- schema ---------------------------------------------------------------------------------------------------------


def test_a_schema_is_a_schema(step: Step) -> None:
    names = step("schema").out.splitlines()
    assert "program" in names
    for name in names:
        data = json.loads(step("schema", name).out)
        jsonschema.Draft202012Validator.check_schema(data)
        assert data == schema(name) and data["additionalProperties"] is False and data["$id"].startswith("https://")


def test_an_unknown_schema(step: Step) -> None:
    result = step("schema", "trace")
    names = ", ".join(step("schema").out.split())
    assert (result.code, result.err) == (1, f"error: schema must be one of {names}, not 'trace'\n")


# -- as a process ---------------------------------------------------------------------------------------------------


def test_results_and_talk_are_apart_and_without_colour() -> None:
    code, out, err = in_a_process("metrics", SIMPLE, NO_COLOR="1")
    assert code == 0 and out.startswith("off_chip_bytes = ") and "give values with --bind" not in out
    assert err.startswith("symbols: ") and "\x1b" not in out + err


def test_version_and_help() -> None:
    assert in_a_process("--version").out.endswith(f"step, version {version('step-fabric')}\n")
    help_text = in_a_process("--help").out
    assert all(verb in help_text for verb in ("check", "metrics", "show", "schema"))
    assert "Exit codes: 0 ok, 1 user or program error" in help_text.replace("\n  ", " ")


# -- tables ---------------------------------------------------------------------------------------------------------


def test_a_table_fits_a_terminal_of_80_columns(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are folded, numbers never; in a pipe a row is a line, and names are whole."""
    piped = step("run", MIXTRAL, "--backend", "approx", "--all").out.splitlines()
    assert piped[1].split("  ")[0] == "operator" and not any(line.endswith(" ") for line in piped)
    rows = {line.split()[0]: line.split(maxsplit=5) for line in piped[2:]}
    assert rows["expert6_gate_projection"][-1] == "expert6_load_gate" and {len(row) for row in rows.values()} == {6}
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    shown = re.sub(r"\x1b\[[\d;]*m", "", step("run", MIXTRAL, "--backend", "approx", "--all").out).splitlines()
    assert max(map(len, shown)) <= 80 < max(map(len, piped))
    assert len(shown) > len(piped)
    numbers = [line.split()[1:5] for line in piped[2:] if "%" in line]
    assert [line.split()[1:5] for line in shown[2:] if "%" in line] == numbers


def test_a_run_folds_what_is_alike(step: Step) -> None:
    """A row has the numbers of the busiest one that it stands for."""
    every = step("run", MIXTRAL, "--backend", "approx", "--all").ok().splitlines()
    folded = step("run", MIXTRAL, "--backend", "approx").ok().splitlines()
    assert folded[0] == f"{every[0]}; of operators that are alike the busiest (--all: each)"
    assert folded[2].split() == ["expert*_gate_projection,", "8", "of", "them", *every[2].split()[1:]]
    assert len(every) > 200 and len(folded) < 40
    assert step("run", MIXTRAL, "--backend", "interpret", "--all").failed() == (
        "error: --all has no effect with --backend interpret; it needs approx or rtl\n"
    )


# -- on-chip memory -------------------------------------------------------------------------------------------------


def test_a_run_tells_what_it_moved_off_chip(step: Step) -> None:
    result = step("run", MIXTRAL, "--backend", "approx")
    (line,) = (each for each in result.out.splitlines() if each.startswith("off-chip traffic: "))
    read, written = (int(each.replace(",", "")) for each in re.findall(r"[\d,]+\d", line))
    assert line == f"off-chip traffic: {read:,} bytes read, {written:,} written"
    traffic = json.loads(step("run", MIXTRAL, "--backend", "approx", "--json").out)["traffic"]
    assert sum(each["read_bytes"] for each in traffic.values()) == read
    assert {name: each["written_bytes"] for name, each in traffic.items() if each["written_bytes"]} == {
        "output": written
    }
    assert read + written == int(
        json.loads(step("metrics", MIXTRAL, "--data", "--json").out)["metrics"]["off_chip_bytes"]
    )


def test_a_run_tells_how_much_memory_buffers_took(step: Step) -> None:
    """Two buffers of four tiles of 512 bytes; a page has two of them."""
    result = step("run", PROGRAMS / "buffered.py", "--backend", "approx")
    assert (result.code, result.out.splitlines()[-1]) == (0, "on-chip memory: 4,096 bytes at most, tiles 4,096")
