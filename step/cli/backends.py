"""``--backend``, and what has no effect with it."""

from __future__ import annotations

import click

from step.errors import InputError
from step.running.backend import able, backend, names

backend_option = click.option("--backend", "name", type=click.Choice(names()), default="rtl", show_default=True)


def check_takes(name: str, need: str, wrong: str) -> None:
    """Raise `InputError`, about what is ``wrong`` then, where the back end ``name`` does not take ``need``."""
    if not backend(name).takes(need):
        others = " or ".join(able(need)) or "another one"
        raise InputError(f"{wrong} with --backend {name}; it needs {others}")
