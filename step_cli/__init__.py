"""The command line. Verbs are entry points, loaded when they are called, so that light verbs stay light."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any

import click
from rich.markup import escape

from step.errors import INTERRUPTED, EnvironmentProblem, StepError
from step.host.nearest import did_you_mean
from step_cli.console import talk
from step_cli.explained import drop, explained
from step_cli.once import check_once, context_of
from step_cli.summary import summary


class Verbs(click.Group):
    """Finds the verbs among the installed entry points."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(each.name for each in entry_points(group="step.commands"))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        for each in entry_points(group="step.commands", name=name):
            try:
                command: click.Command = each.load()
            except ModuleNotFoundError as error:
                return _unavailable(name, f"the module {error.name}; install it with: pip install 'step-fabric[sim]'")
            return command
        return None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the verbs, of which none is loaded for that."""
        verbs = {each.name: each for each in entry_points(group="step.commands")}
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(verbs[name])) for name in self.list_commands(context)])

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _telling_pipes():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, context: click.Context) -> Any:
        with _telling_pipes():
            return super().invoke(context)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises `click.UsageError`, with the verb that may have been meant, where there is none of the name."""
        name, verbs = arguments[0], self.list_commands(context)
        if not name.startswith("-") and name not in verbs:
            hint = did_you_mean(name, verbs)
            raise click.UsageError(f"there is no verb {name!r}; {hint}there are {', '.join(verbs)}", context)
        found, command, rest = super().resolve_command(context, arguments)
        if command is not None:
            check_once(context_of(command, context, found), rest)
        return found, command, rest


@contextmanager
def _telling_pipes() -> Iterator[None]:
    """A reader of the output that went away is an error like others: click would end without a word."""
    try:
        yield
    except BrokenPipeError as error:
        raise explained(error) from error


def _unavailable(name: str, needed: str) -> click.Command:
    """A verb that only says what it needs: the list of verbs must not fail for one of them."""

    def complain() -> None:
        raise EnvironmentProblem(f"step {name} needs {needed}")

    anything = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    return click.Command(name, callback=complain, help=f"Needs {needed}.", context_settings=anything)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="step-fabric")
def step() -> None:
    """Streaming tensor programs: check, measure, generate Verilog, run, compare.

    PROGRAM is file.py, file.py:function, file.py:function[NUMBER] for one of a list, or file.json. Exit codes: 0 ok,
    1 user or program error, 2 build failed, 3 environment, 4 simulation failed or deadlocked, 70 defect of the toolkit,
    130 interrupted.
    """


def main() -> None:
    """Runs a verb and turns errors into messages and exit codes; with ``STEP_TRACEBACK=1`` they stay what they are."""
    try:
        result = step(standalone_mode=False)
        sys.stdout.flush()
        code = result if isinstance(result, int) else 0
    except (KeyboardInterrupt, click.Abort):
        code = _told(lambda: talk("interrupted"), INTERRUPTED)
    except click.ClickException as error:
        code = _told(error.show, StepError.exit_code)
    except Exception as error:
        if os.environ.get("STEP_TRACEBACK", "0") not in ("", "0"):
            raise
        known = explained(error)
        lines = [f"[bold red]error:[/] {escape(str(known))}", *map(escape, getattr(known, "__notes__", []))]
        code = _told(lambda: talk("\n".join(lines)), known.exit_code)
    sys.exit(code)


def _told(tell: Callable[[], None], code: int) -> int:
    """The exit ``code``, of which somebody is told where stderr can be written."""
    try:
        tell()
        sys.stderr.flush()
    except OSError:
        drop(sys.stderr)
    return code
