"""Verbs from functions: what a parameter's type, default and notes make of an option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import click
import pytest
from cases import cases

from step_cli.verb import POSITIVE, Default, Note, call, is_given, verb

Jobs = Annotated[int | None, POSITIVE, "Processes."]


@dataclass(frozen=True, kw_only=True)
class Group:
    base: int = 3


@dataclass(frozen=True, kw_only=True)
class More(Group):
    first: str | None = None


def api(name: str, jobs: int = 7, size: float = 0.5, **others: Any) -> dict[str, Any]:
    return {"name": name, "jobs": jobs, "size": size, **others}


@verb
def command(
    *,
    name: Annotated[str, Note.ARGUMENT],
    jobs: Jobs,
    size: Annotated[float, lambda text: float(text) / 100, Default("5"), "PERCENT"],
    kind: Literal["a", "b"] = "a",
    pairs: Annotated[tuple[str, ...], "--pair", "NAME=VALUE", "Pairs."],
    fast: bool,
    check: bool | None,
    group: More,
) -> None:
    """A verb."""
    click.echo(call(api, kind=kind, pairs=pairs, fast=fast, check=check, group=group, given=is_given("jobs")))


@cases(
    ([], {}),
    (["--jobs", "2"], {"jobs": 2, "given": True}),
    (["--size", "50", "--kind", "b"], {"size": 0.5, "kind": "b"}),
    (["--pair", "a=1", "--pair", "b=2"], {"pairs": ("a=1", "b=2")}),
    (["--fast", "--no-check"], {"fast": True, "check": False}),
    (["--base", "4", "--first", "x"], {"group": More(base=4, first="x")}),
)
def test_options(arguments: list[str], changed: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    default = {"name": "n", "jobs": 7, "size": 0.05, "kind": "a", "pairs": (), "fast": False, "check": None}
    command.main(["n", *arguments], standalone_mode=False)
    assert capsys.readouterr().out == f"{default | {'group': More(), 'given': False} | changed}\n"


@cases(([], "name"), (["n", "--jobs", "0"], "0 is not in the range x>=1."), (["n", "--kind", "c"], "'c' is not one of"))
def test_bad_options(arguments: list[str], message: str) -> None:
    with pytest.raises(click.UsageError) as error:
        command.main(arguments, standalone_mode=False)
    assert message in str(error.value).lower() or message in error.value.format_message()


def test_options_of_a_group_stand_where_it_does_and_its_own_first() -> None:
    names = [each.name for each in command.params]
    assert names == ["name", "jobs", "size", "kind", "pairs", "fast", "check", "first", "base", "as_json"]
