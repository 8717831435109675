"""The tokens of a run as rows, for people, spreadsheets and programs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TextIO

from step_show.waves.passages import passages
from step_show.waves.ports import ChannelEnd
from step_show.waves.recording import Recording


@dataclass(frozen=True)
class TokenRow:
    """A token that passed ``port`` of ``operator``: token ``number`` of ``channel``, a value, an empty or done.

    ``entered`` and ``left`` are cycles; ``left`` is None where it had not left when the run ended.
    """

    operator: str
    port: str
    channel: str
    number: int
    kind: str
    stop: int
    rank: int
    entered: int
    left: int | None


HEADINGS = tuple(each.name for each in fields(TokenRow))


def rows(recording: Recording, ports: Sequence[ChannelEnd]) -> list[TokenRow]:
    """The tokens that entered the channels of ``ports`` in the cycles of ``recording``, in the order of time."""
    found = [row for port in ports for row in _rows(recording, port)]
    return sorted(found, key=lambda row: row.entered)


def _rows(recording: Recording, port: ChannelEnd) -> Iterator[TokenRow]:
    for each in passages(recording.events[port.channel.name], recording.first, recording.end):
        if each.entered >= recording.first:
            token = each.token
            place = port.operator, port.name, port.channel.name, each.number
            kind = "done" if token.done else "value" if token.has_value else "empty"
            yield TokenRow(*place, kind, token.stop, token.rank, each.entered, each.left)


def write_csv(file: TextIO, rows: Iterable[TokenRow]) -> None:
    """A line of headings, and one for each of ``rows``; nothing for what is None."""
    writer = csv.DictWriter(file, HEADINGS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(asdict, rows))


def write_text(file: TextIO, rows: Iterable[TokenRow]) -> None:
    """Columns parted by blanks, under headings; ``-`` for what is None."""
    lines = [HEADINGS, *(["-" if each is None else str(each) for each in vars(row).values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    names = HEADINGS.index("number")  # the columns before are names, to the left
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[:names], widths[:names], strict=True)]
        cells += [cell.rjust(width) for cell, width in zip(line[names:], widths[names:], strict=True)]
        file.write("  ".join(cells) + "\n")
