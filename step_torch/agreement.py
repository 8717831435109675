"""Whether a language model writes what torch wrote: token by token, each behind the text of torch up to there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from step import Run
from step.errors import InputError
from step_torch.archive import GeneratedText
from step_torch.generating import LanguageModel, run


@dataclass(frozen=True)
class Difference:
    """Token ``place`` of a text: ``mine``, and that of torch, whose score there was larger by ``margin``."""

    place: int
    mine: int
    theirs: int
    margin: float


@dataclass(frozen=True)
class TextAgreement:
    """The agreement of a ``run`` with a ``text``."""

    text: GeneratedText
    differences: tuple[Difference, ...]
    run: Run

    @property
    def count(self) -> int:
        """The number of tokens that torch wrote."""
        return len(self.text.margins)

    @property
    def agreed(self) -> int:
        """The number of tokens that are the same."""
        return self.count - len(self.differences)


def agreements(model: LanguageModel, backend: str = "approx") -> Iterator[TextAgreement]:
    """The agreement in each text that is stored with ``model``; raises `InputError` where there is none."""
    if not model.archive.texts:
        raise InputError(
            f"'{model.archive.path}' has no texts of torch to compare with: step_torch.capture_decoding(.., "
            "prompts=..) stores them"
        )
    for text in model.archive.texts:
        given = len(text.prompt)
        ran = run(model.program(text.tokens[:-1], 1, every=True), backend)
        mine = np.asarray(ran.outputs["tokens"]).reshape(-1).tolist()[given - 1 :]
        pairs = zip(mine, text.tokens[given:], text.margins, strict=True)
        found = (Difference(given + at, *each) for at, each in enumerate(pairs) if each[0] != each[1])
        yield TextAgreement(text, tuple(found), ran)
