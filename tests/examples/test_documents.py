"""What the README and the documents show: code that runs, excerpts that are in the code, links that lead somewhere."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commanding import Step
from progress_lines import without_progress

from step.programs.files.json_file import schema

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
EXTENDING = ROOT / "docs" / "extending.md"
FUNCTIONS = ROOT / "docs" / "functions_own.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").glob("*.md"))]
MADE_WITH_THE_SITE = "evaluation_tables.md"


def blocks(document: Path, language: str) -> list[str]:
    """The code blocks of ``language``, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def program(tmp_path: Path, step: Step, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the program that the README shows."""
    (code,) = blocks(README, "python")
    (tmp_path / "program.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    return tmp_path


LINES = [line.partition("#")[0].split() for block in blocks(README, "sh") for line in block.splitlines()]
COMMANDS = [line for line in LINES if line and line[0] == "step"]


def test_the_readme_shows_commands() -> None:
    assert {each[1] for each in COMMANDS} >= {"check", "show", "metrics", "run", "verilog"}


@pytest.mark.parametrize("command", [each for each in COMMANDS if each[1] != "compare"], ids=" ".join)
def test_the_program_of_the_readme_runs(program: Path, step: Step, command: list[str]) -> None:
    done = step(*command[1:])
    assert done.code == 0, done.err
    for each in command:
        assert not each.startswith(("build", "program.svg")) or (program / each).exists()


def test_the_session_of_the_readme_runs(program: Path) -> None:
    (session,) = blocks(README, "pycon")
    done = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(session, {}, "README", None, None))
    assert (done.attempted, done.failed) == (5, 0)


def sessions() -> list[tuple[str, str]]:
    """Commands that the manuals show, and what they print."""
    manuals = [ROOT / "docs" / name for name in ("tools.md", "waves.md")]
    shown = [each for manual in manuals for block in blocks(manual, "console") for each in block.split("$ ")[1:]]
    pairs = [(command, printed) for command, _, printed in (each.partition("\n") for each in shown)]
    return [each for each in pairs if each[0].startswith("step ") and not each[0].startswith("step doctor")]


@pytest.mark.parametrize("command, printed", sessions(), ids=lambda each: each.partition("\n")[0])
def test_the_tools_print_what_the_manual_says(program: Path, step: Step, command: str, printed: str) -> None:
    done = step(*command.split()[1:])
    assert done.out + without_progress(done.err) == printed


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: each.name)
def test_links_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)", document.read_text()):
        assert "://" in link or (document.parent / link).exists() or link == MADE_WITH_THE_SITE, link


def test_the_sidecar_is_described_field_by_field() -> None:
    described = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "verilog.md").read_text().partition("## The sidecar")[2]))
    properties = schema("sidecar")["properties"]
    named = {*properties, *properties["channels"]["items"]["properties"], *properties["units"]["items"]["properties"]}
    assert named <= described, named - described


def test_excerpts_are_in_the_code() -> None:
    excerpts = [each for each in blocks(EXTENDING, "python") if each.startswith("# from ")]
    assert excerpts
    for each in excerpts:
        first, _, code = each.partition("\n")
        assert code in (ROOT / first.removeprefix("# from ")).read_text(), first


def test_a_run_is_reported_as_the_manual_says(program: Path, step: Step) -> None:
    (report,) = blocks(ROOT / "docs" / "tools.md", "text")
    assert step("run", "program.py", "--backend", "approx").out.startswith(report)


def test_what_the_manual_shows_as_missing_is_missing() -> None:
    missing = re.findall(r"^  (aten\.\S+) at ", (ROOT / "docs" / "torch.md").read_text(), re.MULTILINE)
    assert len(missing) == 2 and not [each for each in missing if each in (ROOT / "docs" / "lowerings.md").read_text()]


USE = """
import math
import numpy as np
import patterns
import step
from functions.streaming import Case
from step.language.dtypes import BF16, FP32
from step.lowering.fabric import FabricConfig
from step.functions import MaxMagnitude, Negate, Phi
from step.language.types import Tile

FABRIC = FabricConfig(vector_lanes=5)
for dtype in (BF16, FP32):
    case = Case(Negate(), (Tile(dtype, 3, 4),), FABRIC)
    assert case.formula() == (3, 5, True)
    case.check(7, [0])
assert Negate().apply(np.array([[1, -0.0, 1e-40]], np.float32)).tolist() == [[-1, 0, -0.0]]

for stages in (1, 2, 3, 4, 5, 8):
    for dtype, function in ((FP32, Phi()), (FP32, Phi(BF16)), (BF16, Phi())):
        case = Case(function, (Tile(dtype, 3, 4),), FabricConfig(vector_lanes=5, stages=stages))
        assert case.formula() == (3, 6 + min(stages, 5) + max(stages - 6, 0) + (case.result.dtype is BF16), True)
        case.check(70, [0])
edges = np.array([[-0.0, np.inf, -np.inf, 1e-40, 15.99, -15.99, 16, -16, 1e30]], np.float32)
numbers = np.concatenate([edges[:, 3:], np.linspace(-17, 17, 100001, dtype=np.float32)[None]], 1)
phi = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2)
assert np.abs(Phi().apply(numbers) - phi(numbers.astype(float))).max() < 1e-5
assert Phi().apply(edges)[0, :4].tolist() == [0.5, 1, 0, 0.5] and np.isnan(Phi().apply(edges * np.nan)).all()

graph, data = step.Graph("whole"), np.linspace(-9, 9, 24).reshape(2, 3, 4)
graph.source("x", Tile(FP32, 3, 4), [2]).map(Phi()).sink("y")
program = step.Program(graph, {"x": data}, expected={"y": phi(data)}, tolerance=1e-5)
for backend, options in (("interpret", {}), ("approx", {"values": "all"})):
    step.run(program, backend, **options).check()

for function in (MaxMagnitude(), MaxMagnitude(BF16)):
    for inputs in ((Tile(BF16, 3, 4), Tile(FP32, 1, 4)), (Tile(BF16, 3, 4), Tile(BF16, 3, 4)), (Tile(BF16, 3, 4),)):
        case = Case(function, inputs, FABRIC, reduce=len(inputs) == 1)
        rounds = case.result.dtype is BF16
        assert case.formula() == (3, 5 + rounds, True)
        case.check(70, [0])
"""


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    """The tree with the functions that the manual adds."""
    for folder in ("step", "hw", "sim_approx", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    python = blocks(FUNCTIONS, "python")
    written = [each for each in python if re.match(r"# \w+/", each)]
    assert len(written) == 7
    for each in written:
        first, _, code = each.partition("\n")
        (tmp_path / first.removeprefix("# ")).write_text(code)
    (meaning,) = (each for each in python if each.startswith("# at the end of "))
    (lane,) = (each for each in python if each.startswith("# behind all in "))
    insert(tmp_path, meaning)
    insert(tmp_path, lane)
    path = tmp_path / "hw" / "functions" / "elementwise.py"
    imports = "from step.functions.elementwise import MaxMagnitude\n"
    path.write_text(path.read_text().replace("from amaranth", f"{imports}from amaranth", 1))
    return tmp_path


def insert(root: Path, block: str) -> None:
    """Put the code of ``block`` at the end of its file."""
    first, _, code = block.partition("\n")
    path = root / first.split()[-1]
    path.write_text(f"{path.read_text()}\n\n{code}")


def run_in(root: Path, program: str) -> None:
    places = [root, root / "tests", root / "tests" / "functions"]
    program = f"import sys\nsys.path[:0] = {[str(each) for each in places]}\n{program}"
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_functions_of_the_manual_work(extended: Path) -> None:
    run_in(extended, USE)


def test_the_entry_points_of_the_manual_are_those_of_the_package() -> None:
    shown = "\n\n".join(blocks(EXTENDING, "toml"))
    pairs = re.findall(r'^\[project.entry-points."(.*)"\]\n(\w+) = "(.*)"$', shown, re.MULTILINE)
    written = (ROOT / "tests" / "outside" / "permit-1.0.dist-info" / "entry_points.txt").read_text()
    assert sorted(pairs) == sorted(re.findall(r"^\[(.*)\]\n(\w+) = (.*)$", written, re.MULTILINE))


def test_tests_that_the_manual_names_are_there() -> None:
    named = set(re.findall(r"`(tests/[\w/]+(?:\.py)?)`", EXTENDING.read_text()))
    assert named and [each for each in named if not (ROOT / each).exists()] == []
