"""A captured module of which bytes were changed is an error that says so, wherever they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import step_torch
from step.errors import FormatError

PAGE = Path(__file__).parent / "captured" / "page.pt2"


@pytest.mark.parametrize("at", [2000, 5000, 12000, 20000])
def test_changed_bytes(at: int, tmp_path: Path) -> None:
    whole, path = PAGE.read_bytes(), tmp_path / "m.pt2"
    path.write_bytes(whole[:at] + bytes(each ^ 0x15 for each in whole[at : at + 100]) + whole[at + 100 :])
    with pytest.raises(FormatError) as error:
        step_torch.load(path)
    assert str(error.value).startswith(f"'{path}' is cut off or damaged: ")
