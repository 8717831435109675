"""Every operator and function stands on every floor: language, RTL, timing, and scenarios that run on all of them."""

from __future__ import annotations

import ast
import json
import pkgutil
import re
from pathlib import Path

import meaning
import pytest
from cases import cases
from scenarios import SCENARIOS

import step.functions
import step.ops
from step.language.operator import OPERATORS as OPERATOR_CLASSES
from step.programs.files.json_file import schema, schema_names

ROOT = Path(step.__file__).parents[1]
OPERATORS = sorted(each.name for each in pkgutil.iter_modules(step.ops.__path__))
FAMILIES = sorted(each.name for each in pkgutil.iter_modules(step.functions.__path__))


def test_there_is_something_to_look_at() -> None:
    assert "partition" in OPERATORS and "matmul" in FAMILIES


@pytest.mark.parametrize("floor", ["hw/units", "sim_approx/units"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_is_on_every_floor(operator: str, floor: str) -> None:
    declared = (ROOT / "step" / "rules" / f"{operator}.py").is_file()
    assert declared or (ROOT / floor / f"{operator}.py").is_file()


@pytest.mark.parametrize("floor", ["step/lowering/plans", "hw/functions"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_function_is_on_every_floor(family: str, floor: str) -> None:
    assert (ROOT / floor / f"{family}.py").is_file()


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_plan_says_how_long_a_function_takes(family: str) -> None:
    """A datapath that had an interval or a latency of its own could have another one than the fast model."""
    text = (ROOT / "hw" / "functions" / f"{family}.py").read_text()
    assert not re.search(r"^ *(self\.|def )?(initiation_interval|latency)\b( =|:|\()", text, re.MULTILINE)


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_has_scenarios(operator: str) -> None:
    assert [each for each in SCENARIOS if each.operator == operator], f"tests/scenarios has none of {operator}"


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_is_told_on_nested_lists(operator: str) -> None:
    """A meaning of its own, which does not look at the one that all back ends are compared with."""
    path = Path(meaning.__file__).parent / f"{operator}.py"
    assert path.is_file(), f"tests/meaning has no {operator}.py with its meaning on nested lists"
    assert "process(" not in path.read_text(), "the oracle must not ask the operator's own process"


def test_scenarios_have_names_of_their_own() -> None:
    names = [each.name for each in SCENARIOS]
    assert len(set(names)) == len(names)


FLOORS = ("step", "hw", "sim_approx", "cosim")
FILES = sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
AT_HOME = ("step.ops", "step.rules", "hw.units", "sim_approx.units")
"""Where the file of an operator may name it."""

INSERTING = {"step.lowering.netlist": "broadcast"}
"""The passes that place operators of their own."""

CLASSES = {cls.__name__: name for name, cls in OPERATOR_CLASSES.items()}
FIELDS = {field for each in schema_names() for field in re.findall(r'"(\w+)":', json.dumps(schema(each)))}
"""Fields of the published formats: as keys of plain data they are no operators (``source`` is a line there)."""


def named(tree: ast.AST) -> set[str]:
    """The operators that code names: imports of their files and classes, and texts that are their names."""
    keys = {id(key) for each in ast.walk(tree) if isinstance(each, ast.Dict) for key in each.keys if key is not None}
    keys |= {id(each.slice) for each in ast.walk(tree) if isinstance(each, ast.Subscript)}
    found = set[str]()
    for each in ast.walk(tree):
        match each:
            case ast.Import(names=names):
                found |= {name for alias in names for name in OPERATORS if alias.name == f"step.ops.{name}"}
            case ast.ImportFrom(module="step.ops", names=names):
                found |= {CLASSES.get(alias.name, alias.name) for alias in names}
            case ast.ImportFrom(module=str(module)) if module.startswith("step.ops."):
                found.add(module.removeprefix("step.ops."))
            case ast.Attribute(value=ast.Name(id="ops") | ast.Attribute(attr="ops"), attr=name):
                found.add(CLASSES.get(name, name))
            case ast.Constant(value=str(text)) if text in OPERATORS and not (text in FIELDS and id(each) in keys):
                found.add(text)
    return found


def test_no_floor_knows_an_operator_by_name() -> None:
    found: dict[str, set[str | None]] = {}
    for path in FILES:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        package, _, name = module.rpartition(".")
        own = {name} if package in AT_HOME else {INSERTING.get(module)}
        found[module] = named(ast.parse(path.read_text())) - own
    assert len(found) > 400 and {module: names for module, names in found.items() if names} == {}


@cases(
    ("from step.ops.sink import Sink", {"sink"}),
    ("from step.ops import LinearOffChipStore as Store", {"linear_off_chip_store"}),
    ("import step.ops.map", {"map"}),
    ("isinstance(node.operator, ops.Reassemble)", {"reassemble"}),
    ("node.operator.name == 'linear_off_chip_store'", {"linear_off_chip_store"}),
    ("colours = {'map': 1, 'source': 2}", {"map"}),
    ("streams('source')", {"source"}),
    ("node['source']", set()),
    ("'''Of the sink.'''\nmap(sink, x.promote(), stream.partition)", set()),
)
def test_what_names_an_operator(code: str, operators: set[str]) -> None:
    assert named(ast.parse(code)) == operators
