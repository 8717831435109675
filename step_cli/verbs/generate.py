"""``step generate``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import numpy as np

from step.host.amounts import MEGAHERTZ
from step.host.progress import silent
from step_cli.console import show_json, talk
from step_cli.options import Amount, Json
from step_cli.verb import POSITIVE, Note, verb
from step_torch.agreement import agreements
from step_torch.text import TextModel


@verb
def command(
    *,
    folder: Annotated[Path, click.Path(path_type=Path, exists=True, file_okay=False), Note.ARGUMENT],
    prompt: Annotated[str | None, "What the text begins with."],
    check: Annotated[bool, "Compare with the texts of torch that are stored with the model."],
    tokens: Annotated[int, POSITIVE, "How many more to write."] = 16,
    backend: Annotated[Literal["approx", "interpret", "rtl"], "Where the program runs."] = "approx",
    clock: Annotated[float, Amount(MEGAHERTZ, 1), "MHz, for tokens a second."] = 200.0,
    as_json: Json,
) -> None:
    """Let the language model in FOLDER write.

    FOLDER has model.pt2, which step_torch.capture_decoding wrote, and symbols.txt. The whole model is one program: it
    goes from token to token by itself.
    """
    model = TextModel.load(folder)
    if check:
        _check(model, backend, as_json)
        return
    if prompt is None:
        raise click.UsageError("Missing option '--prompt', or '--check'.")
    started = time.monotonic()
    text, run = model.generate(prompt, tokens, backend, say=silent if as_json else _echo)
    seconds = time.monotonic() - started
    written = np.asarray(run.outputs["tokens"]).size - model.model.before(prompt)
    steps = len(prompt) + written - 1  # the last token is read by nobody
    cycles = None if backend == "interpret" else run.cycles / steps
    if as_json:
        show_json({"text": prompt + text, "tokens": len(text), "cycles_a_token": cycles, "seconds": seconds})
        return
    click.echo()
    talk(f"{len(text)} tokens on {backend} in {seconds:.1f} s")
    if cycles is not None:
        talk(f"{cycles:,.0f} cycles a token, {clock * 1e6 / cycles:,.0f} tokens/s at {clock:g} MHz")


def _check(model: TextModel, backend: str, as_json: bool) -> None:
    """Show how far the texts of torch are written."""
    found = list[dict[str, Any]]()
    for each in agreements(model.model, backend):
        prompt, differences = model.text(each.text.prompt), list[dict[str, Any]]()
        if not as_json:
            click.echo(f"{prompt!r}: {each.agreed} of {each.count} tokens as torch")
        for one in each.differences:
            mine, theirs = model.text([one.mine]), model.text([one.theirs])
            differences.append({"place": one.place, "mine": mine, "torch": theirs, "margin": one.margin})
            if not as_json:
                larger = f"whose score is larger by {one.margin:.3g}" if one.margin else "with the same score"
                click.echo(f"  token {one.place} is {mine!r}, of torch {theirs!r}, {larger}")
        found.append({"prompt": prompt, "tokens": each.count, "agreed": each.agreed, "differences": differences})
    if as_json:
        show_json({"texts": found})


def _echo(symbols: str) -> None:
    click.echo(symbols, nl=False)
