"""An operator and a function outside of the tree are on all floors, and no file of the tree had to change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cases import cases
from installed import step, told

HERE = Path(__file__).parent
PROGRAM = str(HERE / "permitted.py")

RUN = f"""
from cosim import backend as rtl
from sim_approx import backend as approx
from step import interpret, load_program

program = load_program({PROGRAM!r})
timed = program.graph, program.inputs, program.fabric
for run in (interpret(*timed[:2]), approx.run(*timed, values="all"), rtl.run(*timed, optimize=False)):
    print([(token.value.tolist(), token.stop) for token in run.outputs["stored"]])
"""


def test_every_back_end_runs_it() -> None:
    tiles = [([[3 * at, 3 * at + 1, 3 * at + 2]], at % 2) for at in range(4)]
    assert told(RUN).splitlines() == [str(tiles)] * 3


COMPARE = """
from cosim.comparing.compare import compare
from step import load_program

found = compare(load_program({program!r}), optimize=False)
print(found.passed, found.mismatches, found.tokens > 0)
"""


def test_rtl_and_timing_model_agree_on_every_token() -> None:
    assert told(COMPARE.format(program=PROGRAM)) == "True 0 True\n"


@pytest.mark.slow
def test_rtl_and_timing_model_agree_on_the_command_line() -> None:
    done = step("compare", PROGRAM, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)
    assert found["passed"] and found["mismatches"] == 0


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    told(f"from step import load_program; load_program({PROGRAM!r}).save({str(tmp_path / 'p.json')!r})")
    done = step("check", str(tmp_path / "p.json"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", ["check", "show", "metrics"])
def test_the_other_verbs_know_it(verb: str) -> None:
    done = step(verb, PROGRAM)
    assert done.returncode == 0, done.stderr


def test_its_back_end_runs() -> None:
    done = step("run", PROGRAM, "--backend", "ideal", "--max-cycles", "3", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert (json.loads(done.stdout)["backend"], json.loads(done.stdout)["cycles"]) == ("ideal", 3)


@pytest.mark.parametrize("verb", ["run", "waves", "tokens"])
def test_its_back_end_is_in_the_help(verb: str) -> None:
    backends = "".join(step(verb, "--help").stdout.split()).replace("|published", "")  # installed, or not
    assert "[approx|ideal|interpret|rtl]" in backends


@cases(
    (("run", PROGRAM, "--backend", "ideal", "--jump"), "--jump has no effect with --backend ideal; it needs approx"),
    (("run", PROGRAM, "--backend", "ideal", "--events", "--json"),
     "--events has no effect with --backend ideal; it needs approx or rtl"),
    (("tokens", PROGRAM, "--backend", "ideal"),
     "there are no tokens to show with --backend ideal; it needs approx or rtl"),
)  # fmt: skip
def test_what_its_back_end_can(arguments: tuple[str, ...], message: str) -> None:
    done = step(*arguments)
    assert (done.returncode, done.stderr) == (1, f"error: {message}\n")


def test_without_the_package_it_is_not_there() -> None:
    command = [sys.executable, "-m", "step", "check", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "a stream has no operator 'store_permitted'" in done.stderr


FUZZ = """
from step_check.fuzz.check import check
from step_check.fuzz.program import program

seen = set()
for seed in range(200):
    made = program(seed, operators=(3, 12), roomy=True)
    kinds = {node.operator.name for node in made.graph}
    functions = {node.operator.function.name for node in made.graph if node.operator.function is not None}
    found = (kinds | functions) & {"permitted_store", "magnitude"}
    if found - seen:
        check(made)
        seen |= found
    if len(seen) == 2:
        break
print(*sorted(seen))
"""


def test_the_fuzzer_makes_programs_of_it_and_of_a_function() -> None:
    assert told(FUZZ) == "magnitude permitted_store\n"


UNITS = """
from step_check.calibration import standard_benches
from step_check.fuzz.units import units
from step.lowering.fabric import FabricConfig

calibrated = {unit.partition(" of ")[0] for unit in next(standard_benches(FabricConfig())).units}
print(*sorted({"map_magnitude"} & calibrated), *sorted({"permitted_store"} & {each.label for each in units(1)}))
"""


def test_calibration_and_the_rates_of_units_know_them() -> None:
    assert told(UNITS) == "map_magnitude permitted_store\n"


MAGNITUDE = """
import numpy as np
from cosim.comparing.compare import compare
from step import BF16, Graph, Program, Tile
from step.functions import Magnitude

graph = Graph("magnitudes")
graph.source("x", Tile(BF16, 1, 4), [2]).map(Magnitude()).sink("y")
found = compare(Program(graph, {"x": np.array([[[1, -2, 3, -4]], [[-0.5, 0, 7, -8]]])}), optimize=False)
print(found.mismatches, found.first_difference)
"""


def test_the_function_is_on_every_floor() -> None:
    assert told(MAGNITUDE) == "0 None\n"
