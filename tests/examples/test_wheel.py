"""What a wheel of the project holds: all files of its packages."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from setuptools import Distribution

ROOT = Path(__file__).parents[2]
PACKAGES = [path.parent for path in ROOT.glob("*/py.typed")]
FOR_DEVELOPERS = re.compile(r"(^|/)(ruff\.toml|__pycache__/.*|\..*)$")


def planned(root: Path) -> set[str]:
    """Files that setuptools, as ``pyproject.toml`` tells it, puts into the wheel of ``root``, the working directory."""
    plan = Distribution()
    plan.parse_config_files([str(root / "pyproject.toml")])
    plan.include_package_data = False  # what a checkout happens to have beside it is no promise
    build = plan.get_command_obj("build_py")
    build.ensure_finalized()
    data = {f"{folder}/{name}" for _, folder, _, names in build.data_files for name in names}
    folders = [root / package.replace(".", "/") for package in plan.packages]
    return data | {path.relative_to(root).as_posix() for folder in folders for path in folder.glob("*.py")}


@pytest.mark.filterwarnings("ignore:Support for:UserWarning")
def test_the_wheel_has_all_files_of_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert {path.name for path in PACKAGES} >= {"step", "step_models", "step_cli", "hw", "sim_approx", "cosim"}
    found = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in package.rglob("*") if path.is_file()}
    assert {each for each in found - planned(ROOT) if not FOR_DEVELOPERS.search(each)} == set()


def test_the_changelog_begins_with_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    first = next(line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## "))
    assert first.split()[1] == version
