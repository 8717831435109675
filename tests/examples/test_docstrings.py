"""The examples in docstrings of what the packages export: all have one, and each does what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest
from tables.api import HEAD

import step.functions

ROOT = Path(__file__).parents[2]
PACKAGES = ("step", "step.functions", "step_models", "step_torch")
BEGIN = f"{HEAD}\n{step.functions.__doc__}\n>>> import step_models, step_torch\n"
"""What all examples begin with: as the page of the API and the package of functions say."""


def exported(package: str) -> dict[str, Any]:
    """Classes and functions that ``package`` has for users, by name."""
    module = importlib.import_module(package)
    things = {name: getattr(module, name) for name in getattr(module, "__all__", dir(module)) if name[0] != "_"}
    own = package if not hasattr(module, "__all__") else ""
    called = {name: each for name, each in things.items() if inspect.isclass(each) or inspect.isroutine(each)}
    return {name: each for name, each in called.items() if each.__module__.startswith(own)}


def failures(package: str, *, slow: bool) -> str:
    """What the examples of ``package`` print that they do not say; those of a name, and of its members, are a session.

    Of the ``slow`` ones, which are skipped where all run, only these.
    """
    begin = {each.source: each for each in doctest.DocTestParser().get_examples(BEGIN)}
    told: list[str] = []
    for name, thing in exported(package).items():
        session: dict[str, Any] = {}
        for source in begin:
            exec(source, session)
        for test in sorted(doctest.DocTestFinder().find(thing, name, module=False, globs={})):
            if slow != any(each.options.pop(doctest.SKIP, False) for each in test.examples):
                continue
            test.globs = session
            doctest.DocTestRunner(verbose=False).run(test, out=told.append, clear_globs=False)
    return "".join(told)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_that_is_exported_has_an_example(package: str) -> None:
    assert [name for name, each in exported(package).items() if ">>> " not in (inspect.getdoc(each) or "")] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_examples_are_true(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert failures(package, slow=False) == ""


@pytest.mark.slow  # these build simulators, or search for long
@pytest.mark.parametrize("package", ["step", "step_torch"])
def test_the_slow_examples_are_true(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert failures(package, slow=True) == ""
