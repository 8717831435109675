"""A language model of symbols: a folder with `model.pt2` and `symbols.txt`, the symbol of every token in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

import step
from step import Program, Run
from step.errors import FormatError, InputError
from step.host.paths import check_readable
from step.host.progress import silent
from step.language.tokens import Token
from step_torch.generating import LanguageModel

END = 0
"""The token that ends a text."""


_ESCAPE = re.compile(r"\\(?:[abfnrtv\\'\"]|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})")
"""What stands for a symbol in a file, as in Python."""


def read_symbols(path: Path | str) -> str:
    """The symbols in ``path``, UTF-8: one after the other, a line break as backslash n, a backslash as two of them.

    Raises `FormatError` where it is no such text.
    """
    path = Path(path)
    check_readable(path)
    try:
        text = path.read_text(encoding="utf-8").rstrip("\n")
        return _ESCAPE.sub(lambda found: found[0].encode().decode("unicode_escape"), text)
    except UnicodeDecodeError as error:
        raise FormatError(f"'{path}' has symbols that can not be read: {error}") from None


@dataclass(frozen=True)
class TextModel:
    """``model`` whose tokens are ``symbols``."""

    model: LanguageModel
    symbols: str

    @classmethod
    def load(cls, folder: Path | str) -> TextModel:
        """Read ``folder``; raises `FormatError` where its files do not fit each other."""
        path = Path(folder) / "symbols.txt"
        symbols = read_symbols(path)
        model = LanguageModel.load(Path(folder) / "model.pt2")
        if len(symbols) != model.vocabulary:
            raise FormatError(f"'{path}' has {len(symbols)} symbols, but the model has {model.vocabulary} tokens")
        return cls(model, symbols)

    def tokens(self, text: str) -> list[int]:
        """The tokens of ``text``; raises `InputError` for a character that is no symbol."""
        for place, each in enumerate(text):
            if each not in self.symbols:
                known = "".join(sorted(self.symbols[END + 1 :]))
                raise InputError(
                    f"the model has no symbol for {each!r}, character {place} of the prompt; it has {known!r}"
                )
        return [self.symbols.index(each) for each in text]

    def text(self, tokens: Sequence[int]) -> str:
        """The symbols of ``tokens``."""
        return "".join(self.symbols[each] for each in tokens)

    def program(self, prompt: str, count: int) -> Program:
        """The program that writes ``count`` symbols behind ``prompt``."""
        return self.model.program(self.tokens(prompt), count, end=END)

    def written(self, run: Run, prompt: str, count: int) -> str:
        """The text that ``run`` wrote behind ``prompt``, up to the token that ends a text."""
        tokens = np.asarray(run.outputs["tokens"]).reshape(-1)[self.model.before(prompt) :][:count]
        return self.text([*takewhile(lambda each: each != END, tokens.tolist())])

    def generate(
        self, prompt: str, count: int, backend: str = "approx", *, say: Callable[[str], object] = silent
    ) -> tuple[str, Run]:
        """The text of the model behind ``prompt``, and its run.

        ``say`` is told the prompt, if there is nothing wrong with it, and then each symbol as it comes.
        """
        options: dict[str, Any] = {"values": "all"} if backend == "approx" else {}
        program, writing = self.program(prompt, count), Writing(self, self.model.before(prompt), count, say)
        say(prompt)
        run = step.run(program, backend=backend, on_token=writing.told, **options)
        return self.written(run, prompt, count), run


@dataclass
class Writing:
    """Says the symbols that come behind the first ``given`` ones, ``count`` at most, up to the end of the text."""

    model: TextModel
    given: int
    count: int
    say: Callable[[str], object]

    def told(self, sink: str, token: Token) -> None:
        """See `step.run`."""
        if sink != "tokens":
            return
        self.given -= 1
        number = int(token.value[0, 0])
        if self.given < 0 and self.count and number == END:
            self.count = 0
        elif self.given < 0 and self.count:
            self.count -= 1
            self.say(self.model.symbols[number])
