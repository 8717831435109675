"""``step generate``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import numpy as np

from step.errors import InputError
from step.host.amounts import MEGAHERTZ
from step.host.progress import silent
from step_cli.console import as_json, show, talk
from step_cli.options import FILE, Amount, Count, Settings, set_fabric
from step_cli.tiles import TileOptions
from step_cli.verb import NATURAL, POSITIVE, Note, call, is_given, options_for, verb
from step_torch.agreement import TextAgreement, agreements
from step_torch.generating import SMALL
from step_torch.sampling import Sampling
from step_torch.text import TextModel
from step_torch.tiling import Tiling

DRAWN = Sampling()


@verb
def command(
    *,
    folder: Annotated[Path, click.Path(path_type=Path, exists=True, file_okay=False), Note.ARGUMENT],
    prompt: Annotated[
        tuple[str, ...], "What the text begins with. Repeat for several texts, which share the hardware."
    ],
    check: Annotated[bool, "Compare with the texts of torch that are stored with the model."],
    temperature: Annotated[float | None, "Draw tokens at random: their scores are divided by it."],
    top_k: Annotated[int, POSITIVE, "Draw from so many of the largest scores."] = DRAWN.top_k,
    top_p: Annotated[float, "Draw from the most likely ones that have this part of the probability."] = DRAWN.top_p,
    seed: Annotated[int, NATURAL, "The same seed draws the same text."] = DRAWN.seed,
    tokens: Annotated[int, POSITIVE, "How many more to write."] = 16,
    slots: Annotated[Count, "Texts on the hardware at a time, by default all; others wait."],
    chunk: Annotated[int, POSITIVE, "Tokens of a prompt that share a reading of the weights."] = 1,
    room: Annotated[Count, "Tokens that the caches have room for, at most and by default as the capture says."],
    scores: Annotated[Path | None, FILE, "Write the scores of all tokens behind each that is written (.npz)."],
    tiles: TileOptions,
    settings: Settings,
    backend: Annotated[Literal["approx", "interpret", "rtl"], "Where the program runs."] = "approx",
    clock: Annotated[float, Amount(MEGAHERTZ, 1), "MHz, for tokens a second."] = 200.0,
) -> None:
    """Let the language model in FOLDER write.

    FOLDER has model.pt2, which step_torch.capture_decoding wrote, and symbols.txt or tokenizer.json. The whole model is
    one program: it goes from token to token by itself.
    """
    for name in ("top_k", "top_p", "seed"):
        if is_given(name) and temperature is None:
            raise InputError(f"--{name.replace('_', '-')} has no effect without --temperature")
    model = TextModel.load(folder, room=room)
    if check:
        found = (_plain(model, each) for each in agreements(model.model, backend))
        show(lambda: {"texts": [*found]}, _texts(found))
        return
    if not prompt:
        raise click.UsageError("Missing option '--prompt', or '--check'.")
    started = time.monotonic()
    made = {"tiling": call(Tiling), "fabric": set_fabric(SMALL, settings), "scores": scores is not None}
    options: dict[str, Any] = {**made, "chunk": chunk, **options_for(Sampling)}
    if len(prompt) == 1 and slots is None:
        say = silent if as_json() else partial(click.echo, nl=False)
        text, run = model.generate(*prompt, tokens, backend, say=say, **options)
        texts = [text]
    else:
        texts, run = model.generate_all(prompt, tokens, backend, slots=slots, **options)
    seconds, whole = time.monotonic() - started, [before + text for before, text in zip(prompt, texts, strict=True)]
    given = [model.tokens(each) for each in prompt]
    batch = model.model.batch(given, tokens, slots=slots, chunk=chunk)
    end = model.vocabulary.end
    written = [batch.written(run.outputs["tokens"], number, end) for number in range(len(given))]
    if scores is not None:
        kept, rows = {f"tokens_{at}": np.array(each) for at, each in enumerate(written)}, model.model.scores(run)
        kept |= {f"scores_{at}": rows[batch.places(at)[: len(each)]] for at, each in enumerate(written)}
        np.savez(scores, **kept)  # type: ignore[arg-type]
    count = sum(map(len, written))
    steps = sum(map(len, given)) + count - len(given)  # the last token is read by nobody
    cycles = None if backend == "interpret" else run.cycles / steps
    shown = {"text": whole[0]} if len(whole) == 1 else {"texts": whole}
    show({**shown, "tokens": count, "cycles_a_token": cycles, "seconds": seconds}, whole if len(whole) > 1 else "")
    if as_json():
        return
    talk(f"{count} tokens on {backend} in {seconds:.1f} s")
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
