"""``step generate``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import numpy as np

from step.host.amounts import MEGAHERTZ
from step.host.progress import silent
from step_cli.console import as_json, show, talk
from step_cli.options import Amount
from step_cli.verb import POSITIVE, Note, verb
from step_torch.agreement import TextAgreement, agreements
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
) -> None:
    """Let the language model in FOLDER write.

    FOLDER has model.pt2, which step_torch.capture_decoding wrote, and symbols.txt. The whole model is one program: it
    goes from token to token by itself.
    """
    model = TextModel.load(folder)
    if check:
        found = (_plain(model, each) for each in agreements(model.model, backend))
        show(lambda: {"texts": [*found]}, _texts(found))
        return
    if prompt is None:
        raise click.UsageError("Missing option '--prompt', or '--check'.")
    started = time.monotonic()
    text, run = model.generate(prompt, tokens, backend, say=silent if as_json() else partial(click.echo, nl=False))
    seconds = time.monotonic() - started
    written = np.asarray(run.outputs["tokens"]).size - model.model.before(prompt)
    steps = len(prompt) + written - 1  # the last token is read by nobody
    cycles = None if backend == "interpret" else run.cycles / steps
    show({"text": prompt + text, "tokens": len(text), "cycles_a_token": cycles, "seconds": seconds}, "")
    if as_json():
        return
    talk(f"{len(text)} tokens on {backend} in {seconds:.1f} s")
    if cycles is not None:
        talk(f"{cycles:,.0f} cycles a token, {clock * 1e6 / cycles:,.0f} tokens/s at {clock:g} MHz")


def _plain(model: TextModel, found: TextAgreement) -> dict[str, Any]:
    differences = [
        {"place": one.place, "mine": model.text([one.mine]), "torch": model.text([one.theirs]), "margin": one.margin}
        for one in found.differences
    ]
    prompt = model.text(found.text.prompt)
    return {"prompt": prompt, "tokens": found.count, "agreed": found.agreed, "differences": differences}


def _texts(found: Iterable[dict[str, Any]]) -> Iterator[str]:
    for each in found:
        yield f"{each['prompt']!r}: {each['agreed']} of {each['tokens']} tokens as torch"
        for one in each["differences"]:
            larger = f"whose score is larger by {one['margin']:.3g}" if one["margin"] else "with the same score"
            yield f"  token {one['place']} is {one['mine']!r}, of torch {one['torch']!r}, {larger}"
