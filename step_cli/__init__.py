"""The command line. A verb is a file in ``verbs``, loaded when it is called, so that light verbs stay light."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from step.errors import INTERRUPTED, EnvironmentProblem, StepError, shows_tracebacks
from step.host.names import unknown
from step_cli.console import talk
from step_cli.explained import drop, explained
from step_cli.sections import ALIKE, WHICH, sections

GROUP = "step.commands"

NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""What click raises, from its version 8.2 on, to show the help of a group without a verb."""


@cache
def known_verbs() -> dict[str, EntryPoint]:
    """The verbs by name: those of other packages, which are entry points, and the files of `step_cli.verbs`.

    A file whose name would be a word of Python ends in _.
    """
    files = [each.stem for each in Path(__file__).with_name("verbs").glob("[a-z]*.py")]
    ours = [EntryPoint(each.removesuffix("_"), f"{__name__}.verbs.{each}:command", GROUP) for each in files]
    return {each.name: each for each in (*entry_points(group=GROUP), *ours)}


class Verbs(click.Group):
    """The `known_verbs`, each of which is loaded when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(known_verbs())

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in known_verbs():
            return None
        try:
            found: click.Command = known_verbs()[name].load()
        except ModuleNotFoundError as error:
            return _unavailable(name, f"the module {error.name}; install it with: pip install 'step-fabric[sim]'")
        if name in ALIKE:
            found.epilog = WHICH
        return found

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter, only: str | None = None) -> None:
        """Lists the verbs by sections, or those of ``only`` one; none is loaded for that."""
        for title, example, names in sections(self.list_commands(context)):
            if only in (None, title):
                with formatter.section(f"{title} ({example})"):
                    formatter.write_dl([(name, _summary(known_verbs()[name])) for name in names])

    def text_of(self, title: str, context: click.Context) -> str:
        """The section of this ``title`` alone, and what tells its verbs apart."""
        formatter = context.make_formatter()
        self.format_commands(context, formatter, title)
        return formatter.getvalue() + (WHICH.replace("\b", "") if title == "Explore" else "").rstrip()

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises `click.UsageError`, with the verb that may have been meant, where there is none of the name."""
        name, known = arguments[0], self.list_commands(context)
        if not name.startswith("-") and name not in known:
            raise click.UsageError(unknown("verb", name, known), context)
        return super().resolve_command(context, arguments)


def _summary(verb: EntryPoint) -> str:
    """The first sentence of the docstring of ``verb``, which is not loaded; nothing where there is none to be read."""
    spec = find_spec(verb.module)
    body = [] if spec is None or spec.origin is None else ast.parse(Path(spec.origin).read_bytes()).body
    functions = (each for each in body if isinstance(each, ast.FunctionDef) and each.name == verb.attr)
    return next((click.Command(None, help=ast.get_docstring(each)).get_short_help_str(120) for each in functions), "")


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
        if "_STEP_COMPLETE" in os.environ:  # a shell asks what may follow
            step(prog_name="step")
        try:  # not as click does it, which would end without a word where the reader of the output went away
            with step.make_context("step", sys.argv[1:]) as context:
                result = step.invoke(context)
        except click.exceptions.Exit as end:
            result = end.exit_code
        sys.stdout.flush()
        code = result if isinstance(result, int) else 0
    except (KeyboardInterrupt, click.Abort):
        code = _told(lambda: talk("\ninterrupted"), INTERRUPTED)
    except click.ClickException as error:
        tell = error.show if isinstance(error, NO_ARGUMENTS) else partial(_complain, *_usage(error))
        code = _told(tell, StepError.exit_code)
    except Exception as error:
        if shows_tracebacks():
            raise
        known = explained(error)
        code = _told(partial(_complain, str(known), getattr(known, "__notes__", [])), known.exit_code)
    sys.exit(code)


def _complain(text: str, notes: Iterable[str]) -> None:
    talk("\n".join([f"[bold red]error:[/] {escape(text)}", *map(escape, notes)]))


def _usage(error: click.ClickException) -> tuple[str, list[str]]:
    """Error of a command line, as other errors say it, and the help that says how it is written."""
    text, context = error.format_message().removesuffix("."), getattr(error, "ctx", None)
    return text[:1].lower() + text[1:], [f"  see {context.command_path} --help"] if context else []


def _told(tell: Callable[[], None], code: int) -> int:
    """The exit ``code``, of which somebody is told where stderr can be written."""
    try:
        tell()
        sys.stderr.flush()
    except OSError:
        drop(sys.stderr)
    return code
