"""``step help``."""

from __future__ import annotations

from typing import Annotated

import click

from step.errors import InputError
from step.host.names import unknown
from step_cli import Verbs
from step_cli.sections import topics
from step_cli.verb import Note, verb


def command(topic: Annotated[tuple[str, ...], Note.ARGUMENT]) -> None:
    """Show the help of a verb, or of a group of verbs: step help run, step help explore.

    TOPIC is a verb, with those of its own behind it (step help cache clean), or the first word of a group.
    """
    context = click.get_current_context().find_root()
    root, groups = context.command, topics()
    assert isinstance(root, Verbs)
    others = [each for each in groups if each not in root.list_commands(context)]
    if len(topic) == 1 and topic[0] in others:
        click.echo(root.text_of(groups[topic[0]], context))
        return
    for name in topic:
        group = context.command if isinstance(context.command, click.Group) else click.Group()
        found = group.get_command(context, name)
        if found is None:
            known = [*group.list_commands(context), *(others if group is root else ())]
            raise InputError(unknown("topic", name, known))
        context = click.Context(found, context, name)
    click.echo(context.get_help())


command = verb(command, json=False)
