"""Tokens of a text: symbols of one character each, or a tokenizer as transformers stores it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from step.errors import EnvironmentProblem, FormatError, InputError
from step.host.paths import check_readable

END = 0
"""The symbol that ends a text."""


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
class Symbols:
    """Tokens that are the characters of ``symbols``; the first one ends a text."""

    symbols: str
    end: int | None = END

    def check(self, path: Path, tokens: int) -> None:
        """Raises `FormatError` where ``path`` has not as many symbols as a model has ``tokens``."""
        if len(self.symbols) != tokens:
            raise FormatError(f"'{path}' has {len(self.symbols)} symbols, but the model has {tokens} tokens")

    def tokens(self, text: str, *, begins: bool = True) -> list[int]:
        """The tokens of ``text``; raises `InputError` for a character that is no symbol."""
        for at, each in enumerate(text):
            if each not in self.symbols:
                own = "".join(sorted(self.symbols[END + 1 :]))
                raise InputError(f"the model has no symbol for {each!r}, character {at} of the prompt; it has {own!r}")
        return [self.symbols.index(each) for each in text]

    def text(self, tokens: Sequence[int]) -> str:
        """The symbols of ``tokens``."""
        return "".join(self.symbols[each] for each in tokens)


@dataclass(frozen=True)
class Pieces:
    """Tokens of a ``tokenizer`` of the package tokenizers, and the token that ends a text, if there is one."""

    tokenizer: Any
    end: int | None

    @classmethod
    def load(cls, folder: Path) -> Pieces:
        """Read tokenizer.json, and the end from config.json; raises `FormatError` where that is damaged."""
        try:
            from tokenizers import Tokenizer
        except ModuleNotFoundError:
            problem = "tokenizer.json needs tokenizers, which is not installed: pip install 'step-fabric[tokenizer]'"
            raise EnvironmentProblem(f"'{folder}': {problem}") from None
        path, end = folder / "tokenizer.json", None
        for name in ("config.json", "generation_config.json"):  # the second one goes before the first
            if (folder / name).exists():
                end = json.loads((folder / name).read_text(encoding="utf-8")).get("eos_token_id", end)
        try:
            return cls(Tokenizer.from_file(str(path)), end[0] if isinstance(end, list) else end)
        except Exception as error:  # it has no other class
            raise FormatError(f"'{path}' is no tokenizer: {error}") from None

    def check(self, path: Path, tokens: int) -> None:
        """Raises `FormatError` where ``path`` has more tokens than a model."""
        if (count := self.tokenizer.get_vocab_size()) > tokens:
            raise FormatError(f"'{path}' has {count} tokens, but the model has {tokens}")

    def tokens(self, text: str, *, begins: bool = True) -> list[int]:
        """The tokens of ``text``, with those that stand at the begin of one that ``begins``."""
        found: list[int] = self.tokenizer.encode(text, add_special_tokens=begins).ids
        return found

    def text(self, tokens: Sequence[int]) -> str:
        """The text of ``tokens``."""
        found: str = self.tokenizer.decode(tokens)
        return found
