"""``step help``."""

from __future__ import annotations

from typing import Annotated

import click

from step.errors import InputError
from step.host.names import unknown
from step_cli.sections import topics
from step_cli.verb import Note, verb


def command(topic: Annotated[tuple[str, ...], Note.ARGUMENT]) -> None:
    """Show the help of a verb, or of one of the groups above: step help run, step help explore.

    TOPIC is a verb, with those of its own behind it (step help cache clean), or the first word of a group.
    """
    context = click.get_current_context().find_root()
    for name in topic:
        group = context.command
        known = group.list_commands(context) if isinstance(group, click.Group) else []
        groups = topics() if context.parent is None else {}
        if name in groups and name not in known and len(topic) == 1:
            click.echo(group.text_of(groups[name], context))
            return
        if name not in known:
            raise InputError(unknown("topic", name, [*known, *(each for each in groups if each not in known)]))
        context = click.Context(group.get_command(context, name), context, name)
    click.echo(context.get_help())


command = verb(command, json=False)
