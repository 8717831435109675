"""The symbols of a language model: any letters, and backslashes in front of what a line can not have."""

from __future__ import annotations

from pathlib import Path

from cases import cases
from raising import raising

import step
from step.errors import FormatError
from step_torch.text import TextModel
from step_torch.vocabulary import read_symbols

FOLDER = Path(step.__file__).parents[1] / "examples" / "tiny_lm"


@cases(
    ("abc", "abc"),
    (r"\n .", "\n ."),
    ("\u00e9\u00df", "\u00e9\u00df"),
    ("\u6f22\u5b57", "\u6f22\u5b57"),
    ("a\U0001f642b", "a\U0001f642b"),
    (r"\\", "\\"),
    ("\\\\\u6f22", "\\\u6f22"),
    (r"""'"\'\" """, "'\"'\" "),
    (r"\x41\u00e9\U0001F642\t", "A\u00e9\U0001f642\t"),
    (r"\\n", r"\n"),
    ("\\q\\", "\\q\\"),
)  # fmt: skip
def test_symbols(written: str, meant: str, tmp_path: Path) -> None:
    path = tmp_path / "symbols.txt"
    path.write_text(written + "\n", encoding="utf-8")
    assert read_symbols(path) == meant


def test_a_model_with_letters_of_all_kinds(tmp_path: Path) -> None:
    letters = r"\n .,\\'" + '"' + "\u00e9\u00df\u6f22\U0001f642abcdefghijklmnopqrstu"
    (tmp_path / "symbols.txt").write_text(letters + "\n", encoding="utf-8")
    (tmp_path / "model.pt2").write_bytes((FOLDER / "model.pt2").read_bytes())
    model = TextModel.load(tmp_path)
    prompt = "\u00e9\u00df\u6f22\U0001f642\\'\"\n"
    assert model.text(model.tokens(prompt)) == prompt


@cases(
    (b"ab\xff\n", "'utf-8' codec can't decode byte 0xff in position 2: invalid start byte"),
    (rb"\UFFFFFFFF", "'unicodeescape' codec can't decode bytes in position 0-9: illegal Unicode character"),
)
def test_symbols_that_can_not_be_read(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "symbols.txt"
    path.write_bytes(data)
    with raising(FormatError, f"'{path}' has symbols that can not be read: {said}"):
        read_symbols(path)


def test_the_symbols_of_the_example() -> None:
    assert read_symbols(FOLDER / "symbols.txt")[:3] == "\0 a"
