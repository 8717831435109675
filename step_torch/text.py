"""A language model of texts: a folder with `model.pt2`, and `symbols.txt` or a tokenizer as transformers stores it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import step_torch
from step import Program, Run
from step.host.progress import silent
from step.language.tokens import Token
from step_torch.generating import LanguageModel, run
from step_torch.sampling import MOST, Sampling
from step_torch.vocabulary import Pieces, Symbols, read_symbols


@dataclass(frozen=True)
class TextModel:
    """``model`` whose tokens are those of ``vocabulary``."""

    model: LanguageModel
    vocabulary: Symbols | Pieces

    @classmethod
    def load(cls, folder: Path | str, *, room: int | None = None) -> TextModel:
        """Read ``folder``, a capture or a checkpoint; raises `FormatError` where its files do not fit each other.

        ``room``: the most tokens of a text, at most and by default those of the capture; of a checkpoint 64.
        """
        folder = Path(folder)
        is_tokenizer = (folder / "tokenizer.json").exists()
        path = folder / ("tokenizer.json" if is_tokenizer else "symbols.txt")
        vocabulary = Pieces.load(folder) if is_tokenizer else Symbols(read_symbols(path))
        if (folder / "config.json").exists() and not (folder / "model.pt2").exists():
            model = step_torch.from_pretrained(folder).language_model(room=room or 64)
        else:
            model = LanguageModel.load(folder / "model.pt2", room=room)
        vocabulary.check(path, model.vocabulary)
        return cls(model, vocabulary)

    def tokens(self, text: str) -> list[int]:
        """The tokens of ``text``; raises `InputError` for a character that is no symbol."""
        return self.vocabulary.tokens(text)

    def text(self, tokens: Sequence[int]) -> str:
        """The text of ``tokens``."""
        return self.vocabulary.text(tokens)

    def program(
        self,
        prompt: str | Sequence[Any],
        count: int | Sequence[int],
        *,
        temperature: float | None = None,
        top_k: int = MOST,
        top_p: float = 1.0,
        seed: int = 0,
        **options: Any,
    ) -> Program:
        """The program that writes ``count`` tokens behind ``prompt``, a text, its tokens, or several such.

        ``temperature``: tokens are drawn (see `Sampling` for all four); None: each is the one of the largest score.
        ``options``: see `LanguageModel.program`.
        """
        sampling = None if temperature is None else Sampling(temperature, top_k, top_p, seed)
        several = [self.tokens(each) if isinstance(each, str) else each for each in prompt]
        given = self.tokens(prompt) if isinstance(prompt, str) else several
        return self.model.program(given, count, end=self.vocabulary.end, sampling=sampling, **options)

    def generate(
        self, prompt: str, count: int, backend: str = "approx", *, say: Callable[[str], object] = silent, **options: Any
    ) -> tuple[str, Run]:
        """The text of the model behind ``prompt``, and its run.

        ``say`` is told the prompt, if there is nothing wrong with it, and then each piece of text as it comes.
        ``options``: see `program`.

        >>> tiny = TextModel.load("examples/tiny_lm")
        >>> tiny.generate("every tile", 9, temperature=3.0, top_k=8, seed=1)[0]
        ' has ip, '
        """
        return Session(self).say(prompt, count, backend, say=say, **options)

    def generate_all(
        self, prompts: Sequence[str], count: int | Sequence[int], backend: str = "approx", **options: Any
    ) -> tuple[list[str], Run]:
        """The texts behind several ``prompts``, which share the hardware, and the run of all of them.

        ``options``: see `program`; ``slots`` says how many are on their way at a time.

        >>> tiny = TextModel.load("examples/tiny_lm")
        >>> tiny.generate_all(["every", "the cache"], [5, 6])[0]
        [' tile', ' stay ']
        """
        given = [self.tokens(each) for each in prompts]
        batch = self.model.batch(given, count, slots=options.get("slots"), chunk=options.get("chunk", 1))
        ran = run(self.program(given, count, **options), backend)
        found = (batch.written(ran.outputs["tokens"], number) for number in range(len(given)))
        return [self._behind(*each) for each in zip(given, found, strict=True)], ran

    def _behind(self, given: list[int], written: list[int]) -> str:
        """The text of what is ``written`` behind ``given``, up to the token that ends a text."""
        until = takewhile(lambda each: each != self.vocabulary.end, written)
        return self.text([*given, *until])[len(self.text(given)) :]


@dataclass
class Session:
    """A text that goes on turn by turn: the caches of a turn are those of the next one.

    ``tokens``: all so far. The last one is in no cache.

    >>> session = Session(TextModel.load("examples/tiny_lm"))
    >>> session.say("every", 5)[0], session.say(" has", 6)[0]
    (' tile', ' its t')
    """

    model: TextModel
    tokens: list[int] = field(default_factory=list)
    caches: dict[str, Any] = field(default_factory=dict)

    def say(
        self, prompt: str, count: int, backend: str = "approx", *, say: Callable[[str], object] = silent, **options: Any
    ) -> tuple[str, Run]:
        """The text of the model behind ``prompt``, which comes behind all before; see `TextModel.generate`."""
        model, past = self.model, max(0, len(self.tokens) - 1)
        given = [*self.tokens[past:], *model.vocabulary.tokens(prompt, begins=not self.tokens)]
        program = model.program(given, count, past=past, caches=self.caches, **options)
        batch = model.model.batch(given, count, past=past, chunk=options.get("chunk", 1))
        come, said = list[int](), [""]

        def told(sink: str, token: Token) -> None:
            """Say what comes with a token, up to the end of the text."""
            if sink == "tokens":
                come.append(int(token.value[0, 0]))
                said.append(model._behind(given, batch.written(come, 0)))
                if more := said[-1][len(said[-2]) :]:
                    say(more)

        say(prompt)
        ran = run(program, backend, on_token=told)
        written = batch.written(ran.outputs["tokens"], 0)
        self.tokens = [*self.tokens[:past], *given, *written]
        self.caches = {name: each for name, each in ran.outputs.items() if name in program.inputs}
        return model._behind(given, written), ran
