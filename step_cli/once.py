"""Options of the command line that take one value."""

from __future__ import annotations

import click


def check_once(context: click.Context, arguments: list[str]) -> None:
    """Raise `click.UsageError` for an option of the context's command that is there twice: click takes the last one.

    Options of which there may be several, and flags that can not be taken back, may be there twice.
    """
    command = context.command
    _, rest, given = command.make_parser(context).parse_args(list(arguments))
    for place, each in enumerate(given):
        if isinstance(each, click.Option) and each in given[:place] and not _several(each):
            raise click.UsageError(f"{each.opts[-1]} is given twice", context)
    if isinstance(command, click.Group) and rest:
        name, verb, others = command.resolve_command(context, rest)
        if verb is not None:
            check_once(context_of(verb, context, name), others)


def context_of(command: click.Command, parent: click.Context, name: str | None) -> click.Context:
    """That in which ``command`` of the group of ``parent`` is parsed."""
    return click.Context(command, parent, name, **command.context_settings)


def _several(option: click.Option) -> bool:
    return option.multiple or option.count or (option.is_flag and not option.secondary_opts)
