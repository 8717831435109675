"""Result of a timed run of a program, the same for every back end.

Activities and counts are those that hardware counters beside the fabric see in the cycles 0 to ``cycles`` - 1.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from step.host.names import ByName
from step.language.dtypes import DTYPES, as_dtype
from step.language.tokens import NOTHING, UNKNOWN, Token
from step.programs.files.json_file import JsonFile, header, schema, validate


class Activity(enum.IntEnum):
    """Activity of a unit in a cycle; the number is what its RTL reports.

    Busy: it fires, or is within the initiation interval of its last firing. Starved: a token that it needs is not
    there. Blocked: the tokens are there, the space for what it would send is not. Finished: it handled Done.
    """

    STARVED = 0
    BUSY = 1
    BLOCKED = 2
    FINISHED = 3


class Status(enum.StrEnum):
    """End of a run."""

    FINISHED = "finished"
    DEADLOCK = "deadlock"
    RUNAWAY = "runaway"
    FAULT = "fault"


@dataclass(frozen=True)
class OperatorResult:
    """Cycles of each activity (they add up to the cycles of the run), and the firings where they were counted."""

    busy: int
    starved: int
    blocked: int
    finished: int
    firings: int | None = None


@dataclass(frozen=True)
class ChannelResult:
    """``tokens`` that entered, the ``peak`` occupancy after any cycle, and the ``capacity`` in slots.

    A slot that is claimed for a token which did not enter yet does not count as occupied.
    """

    tokens: int
    peak: int
    capacity: int


@dataclass(frozen=True)
class TrafficResult:
    """Bytes of the tiles that an operator moved from off-chip memory and to it, in so many ``beats``.

    They are bytes as the symbolic metric counts them. A beat has `MemoryConfig.beat_bytes`, and the last one of a tile
    may be filled in part; its time on the bus is that of a whole one.
    """

    read_bytes: int
    written_bytes: int
    beats: int

    @property
    def bytes(self) -> int:
        """In both directions."""
        return self.read_bytes + self.written_bytes


@dataclass(frozen=True)
class ChannelEvents:
    """For every token that entered: the cycle, and its control (bit 0 done, 1 value, 2-5 the stop, 6-9 the rank).

    ``leaves`` are the cycles in which tokens left, in the same order; those that never did have none.
    """

    cycles: np.ndarray
    control: np.ndarray
    leaves: np.ndarray

    @property
    def valued(self) -> np.ndarray:
        """Whether each token has a value."""
        return np.asarray(self.control & 2 > 0)

    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Cycles from which on another number of tokens is in the channel, from 0 on, and these numbers."""
        times = np.concatenate([self.cycles, self.leaves]) + 1  # a token is seen in the cycle behind that
        moves = np.repeat([1, -1], [len(self.cycles), len(self.leaves)])
        order = np.argsort(times, kind="stable")
        times, levels = np.append(0, times[order]), np.append(0, np.cumsum(moves[order]))
        last = np.append(np.diff(times) > 0, True)
        return times[last], levels[last]


def channel_events(names: Sequence[str], entered: np.ndarray, left: np.ndarray, end: int) -> dict[str, ChannelEvents]:
    """Events before the cycle ``end`` of the channels ``names``, from logs of all, those of a channel in order of time.

    A row has a ``cycle``, a ``channel`` by its place among the names, and for a token that entered its ``control``.
    """
    parts = []
    for log in (entered, left):
        log = log[log["cycle"] < end]
        log = log[np.argsort(log["channel"], kind="stable")]
        parts.append(np.split(log, np.searchsorted(log["channel"], range(1, len(names)))))
    return {
        name: ChannelEvents(
            comes["cycle"].astype(np.int64), comes["control"].astype(np.int32), goes["cycle"].astype(np.int64)
        )
        for name, comes, goes in zip(names, *parts, strict=True)
    }


EVENTS = {"cycles": np.int64, "control": np.int32, "leaves": np.int64}
"""Formats of the arrays of events."""
COUNTED = {"operators": OperatorResult, "channels": ChannelResult, "traffic": TrafficResult}
"""Parts of a result that have counts by name."""


@dataclass(frozen=True, repr=False)
class RunResult(JsonFile):
    """One run. ``operators`` and ``channels`` go by the names of the lowered program (`step.lowering.netlist.Netlist`).

    ``outputs`` has the tokens of every sink and store without Done, or is None where values were not computed;
    ``arrivals`` has, per operator that takes data in order of arrival or index, the input port of every data token;
    ``error`` is the text of what ended a run that did not finish; ``events`` are there where they were asked for.
    ``buffers`` has, per operator that fills them, the most bytes of on-chip memory that they took, in whole pages;
    ``buffer_bytes``: the most that all took together. ``traffic`` has what each operator at off-chip memory moved, also
    behind the end of the run, as ``outputs`` are.
    ``most_rows``: of the tiles of dynamic size that began at each operator, where it was counted (`approx`).
    ``engine``: the one of the back end `approx` that ran, ``compiled`` or ``python``; ``engine_reason``: why it was not
    the compiled one, if nobody asked for that. ``jumped_cycles``: of the cycles those that repeated others, and were
    counted and not gone through. ``symbols``: the values of the program's symbols, where they were asked for
    (`step.Simulator`) and the run shows them.
    """

    schema: ClassVar = "result"
    noun: ClassVar = "a result"

    backend: str
    program: str
    status: Status
    cycles: int
    outputs: dict[str, list[Token]] | None
    operators: dict[str, OperatorResult]
    channels: dict[str, ChannelResult]
    wall_seconds: float
    arrivals: dict[str, list[int]] = field(default_factory=dict)
    error: str | None = None
    events: dict[str, ChannelEvents] | None = None
    buffers: dict[str, int] = field(default_factory=dict)
    buffer_bytes: int = 0
    most_rows: dict[str, int] = field(default_factory=dict)
    traffic: dict[str, TrafficResult] = field(default_factory=dict)
    engine: str | None = None
    engine_reason: str | None = None
    jumped_cycles: int = 0
    symbols: dict[str, int] | None = None

    def __post_init__(self) -> None:
        kinds = {"outputs": "output", "operators": "operator", "channels": "channel", "events": "channel"}
        for part, what in kinds.items():
            things = getattr(self, part)
            if things is not None:
                object.__setattr__(self, part, ByName(things, what))

    def __repr__(self) -> str:
        return f"<result of {self.program} on {self.backend}: {self.status}, {self.cycles:,} cycles>"

    @property
    def tokens(self) -> int:
        """Tokens that entered channels."""
        return sum(each.tokens for each in self.channels.values())

    @property
    def off_chip_bytes(self) -> int:
        """Bytes of all tiles that were moved from off-chip memory and to it."""
        return sum(each.bytes for each in self.traffic.values())

    @property
    def tokens_per_second(self) -> float:
        """Token events per second of wall time."""
        return self.tokens / self.wall_seconds if self.wall_seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data, as the schema ``result`` describes it."""
        outputs = self.outputs
        plain: dict[str, Any] = {
            "status": self.status.value,
            "outputs": None if outputs is None else {name: list(map(_token, each)) for name, each in outputs.items()},
            "events": self.events
            and {name: {part: each.tolist() for part, each in vars(e).items()} for name, e in self.events.items()},
        }
        plain |= {part: {name: asdict(each) for name, each in getattr(self, part).items()} for part in COUNTED}
        data = header(self.schema)
        names = [name for name in schema(self.schema)["properties"] if name not in data]
        return data | {name: plain[name] if name in plain else getattr(self, name) for name in names}

    @classmethod
    def _of_json(cls, data: Mapping[str, Any]) -> RunResult:
        """The opposite of `to_json`, for data that fits the schema."""
        outputs, events = data["outputs"], data["events"]
        read = {
            "status": Status(data["status"]),
            "outputs": outputs and {name: list(map(_read_token, tokens)) for name, tokens in outputs.items()},
            "events": events
            and {
                name: ChannelEvents(**{p: np.array(each[p], EVENTS[p]) for p in EVENTS})
                for name, each in events.items()
            },
        }
        for part, kind in COUNTED.items():
            read[part] = {name: kind(**each) for name, each in data.get(part, {}).items()}
        return super()._of_json({**data, **read})

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "result") -> RunResult:
        """The opposite of `to_json`; raises `FormatError` for data that does not fit the schema."""
        validate(data, cls.schema, where)
        return cls._of_json(data)


def control_word(token: Token) -> int:
    """Control of a token, without its value, as in `ChannelEvents.control`."""
    return token.done | token.has_value << 1 | token.stop << 2 | token.rank << 6


def control_token(word: int, value: Any = UNKNOWN) -> Token:
    """The opposite of `control_word`, for a token that has ``value`` where it has one."""
    return Token(value if word & 2 else NOTHING, word >> 2 & 15, word >> 6 & 15, bool(word & 1))


def _token(token: Token) -> dict[str, Any]:
    plain: dict[str, Any] = {} if token.value is NOTHING else {"value": _value(token.value)}
    return {**plain, "stop": token.stop, **({"rank": token.rank} if token.is_empty else {})}


def _read_token(plain: Mapping[str, Any]) -> Token:
    return Token(_read_value(plain["value"]) if "value" in plain else NOTHING, plain["stop"], plain.get("rank", 0))


def _value(value: Any) -> Any:
    """A tile as dtype, shape and bytes in hexadecimal (row-major, little-endian), a tuple as a list."""
    if isinstance(value, np.ndarray):
        dtype = next(each.name for each in DTYPES.values() if each.numpy == value.dtype)
        return {"dtype": dtype, "shape": list(value.shape), "data": np.ascontiguousarray(value).tobytes().hex()}
    if isinstance(value, tuple | list):
        return [_value(each) for each in value]
    return None if value is UNKNOWN else int(value)


def _read_value(plain: Any) -> Any:
    if isinstance(plain, dict):
        flat = np.frombuffer(bytes.fromhex(plain["data"]), as_dtype(plain["dtype"]).numpy)
        return flat.reshape(plain["shape"])
    if isinstance(plain, list):
        return tuple(_read_value(each) for each in plain)
    return UNKNOWN if plain is None else plain
