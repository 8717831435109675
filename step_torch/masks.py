"""Scores of attention: what is done to products of queries and keys, and which of them count.

What no input decides is known at import: that all count, that rows are causal or see a window, or numbers that are
added. Tiles of keys that nobody sees are not read then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from step import BOOL, FP32, UINT32, Stream
from step.functions import Add, CausalMask, Max, Where
from step.language.function import NUMBER
from step_torch.layouts import Value, sizes
from step_torch.lowerings.elementwise import renamed, restricted
from step_torch.sources import is_parameter, supported
from step_torch.views import in_shape

if TYPE_CHECKING:
    from step_torch.importing import Importer

NEVER = -1e30
"""The score of a row that is not seen: a number, so that a tile of these makes no NaN."""

NOTHING = -1e29
"""The score of nothing: rows that see no others get zeros, as those of torch."""


@dataclass(frozen=True)
class Scores:
    """Products times ``scale``, below ``softcap``, of rows that are ``causal`` and see a ``window`` of those before.

    ``mask`` [batch, heads, rows, keys] is added, or true where a row is seen; ``blind`` rows may see none.
    """

    scale: float
    causal: bool = False
    window: int | None = None
    softcap: float | None = None
    mask: Any = None
    blind: bool = False

    def known(self, rows: int, keys: int) -> Scores:
        """The same with a mask that no input decides as what it is."""
        window = None if self.window is None or self.window >= keys else self.window
        scores = replace(self, window=window, causal=self.causal and (rows > 1 or window is not None))
        if not is_parameter(self.mask):
            return replace(scores, blind=self.mask is not None)
        added = _added(self.mask.data)
        hidden, last = added <= NEVER, int((added > NEVER).reshape(-1, added.shape[-1])[-1].sum()) or None
        for causal, most in ((False, None), (True, None), (True, last)):
            if not added[~hidden].any() and (hidden == _hidden(rows, keys, causal=causal, window=most)).all():
                windows = [each for each in (window, most) if each is not None]
                return replace(scores, mask=None, causal=causal or scores.causal, window=min(windows, default=None))
        mask = self.mask.formed("added", _added, self.mask.dims)
        hidden = hidden | _hidden(rows, keys, causal=scores.causal, window=window)
        return replace(scores, mask=mask, blind=bool(hidden.all(-1).any()))

    def slopes(self) -> np.ndarray:
        """By how much a key counts more than the one before it, by heads, where a mask is that for a new row.

        Weights do not see what is added to all scores, so it is the same behind as many rows as there are. Raises
        `Unsupported` for any other mask.
        """
        supported(is_parameter(self.mask), "a mask behind a cache that inputs decide")
        keys = self.mask.data.shape[-1]
        added = self.mask.data.astype(np.float64).reshape(-1, keys)
        line = np.linspace(added[:, 0], added[:, -1], keys, axis=1)
        is_line = self.window is None and np.allclose(added, line, rtol=2**-8, atol=0)  # as BF16 rounds one
        supported(
            is_line, "a mask of a new row behind a cache; a window, or what grows alike from key to key, has a lowering"
        )
        return (line[:, -1] - line[:, 0]) / (keys - 1)

    @property
    def is_known(self) -> bool:
        """Whether no input decides which scores count."""
        return self.mask is None or is_parameter(self.mask)

    def near(self, rows: int, keys: int, size: int) -> tuple[int, int] | None:
        """How many tiles of ``size`` keys a tile of as many rows sees before its own and behind; None for all."""
        is_static, count = is_parameter(self.mask), -(-keys // size)
        if rows != keys or not (is_static or self.window) or (is_static and keys % size):
            return None
        hidden = _hidden(rows, keys, causal=self.causal, window=self.window)
        hidden = hidden | (_added(self.mask.data) <= NEVER) if is_static else hidden
        more = [(0, 0)] * (hidden.ndim - 2) + [(0, count * size - keys)] * 2
        hidden = np.pad(hidden, more, constant_values=True)
        seen = ~hidden.reshape(-1, count, size, count, size).min((0, 2, 4))
        number = np.arange(count)
        before = max(0, int((number - seen.argmax(1)).max()))
        behind = max(0, int((count - 1 - seen[:, ::-1].argmax(1) - number).max()))
        return (before, behind) if before + behind + 1 < count else None

    def masked(self, at: Importer, score: Stream, wanted: Value, near: tuple[int, int] | None) -> Stream:
        """``score`` in the layout of ``wanted``, [batch, heads, group, rows, keys], with `NEVER` where none is seen."""
        score = self._of_positions(at, score, wanted, near) if self.causal else score
        if self.mask is None:
            return score
        mask = self._read(at, wanted, near)
        if is_parameter(self.mask):
            return score.map(Add(out=FP32), mask, name=at.name("with_mask"))
        never = at.graph.constant(NEVER, dtype=FP32, reference=score, name=at.name("never"))
        if mask.element.tiles[0].dtype is BOOL:
            return mask.map(Where(), score, never, name=at.name("seen"))
        mask = mask.map(Max(), never, name=at.name("at_least"))
        return score.map(Add(out=FP32), mask, name=at.name("with_mask"))

    def _of_positions(self, at: Importer, score: Stream, wanted: Value, near: tuple[int, int] | None) -> Stream:
        """Scores of rows that are causal, and near enough."""
        *_, rows, keys = sizes(wanted.dims)
        *outer, tiles = wanted.layout.loops
        (height, width), graph = wanted.layout.tile, at.graph
        own = [each for each in outer if wanted.dims[3] and each.axis == wanted.dims[3][0]]
        batch = [each for each in outer if each.axis in wanted.dims[0]]
        first = 0 if near else keys - rows
        extents = [1, *(each.count for each in (*batch, *own))]
        query = graph.generate(NUMBER, range(first, first + rows, height), extents, name=at.name("query_row"))
        for part in (*(each for each in outer if each not in own and each not in batch), tiles):
            query = query.repeat(part.count, name=at.name("query_row"))
        firsts: Any = range(0, tiles.count * width, width)
        if near:  # tiles before the first one wrap around: they are behind all rows then
            firsts = [(each - near[0] * width) % 2**32 for each in firsts]
        key = graph.generate(NUMBER, firsts, reference=score, name=at.name("key_row"))
        key = key.map(Add(), query, name=at.name("key_row")) if near else key
        if self.window is None:
            mask = CausalMask(NEVER) if near else CausalMask()
            return score.map(mask, query, key, name=at.name("masked"))
        score = score.map(CausalMask(NEVER), query, key, name=at.name("masked"))
        far = graph.constant(np.full((height, width), NEVER), dtype=FP32, reference=score, name=at.name("far"))
        behind = graph.constant(self.window, dtype=UINT32, reference=key, name=at.name("window"))
        behind = key.map(Add(), behind, name=at.name("behind"))
        far = far.map(CausalMask(0.0), query, behind, name=at.name("far"))
        return score.map(Add(), far, name=at.name("in_window"))

    def _read(self, at: Importer, wanted: Value, near: tuple[int, int] | None) -> Stream:
        """Tiles of the mask as scores come."""
        given, (_, heads, group, rows, _) = self.mask, sizes(wanted.dims)
        shape = (1,) * (4 - len(given.dims)) + sizes(given.dims)
        split = (shape[0], *((heads, group) if shape[1] > 1 else (1, 1)), *shape[2:])
        dims = tuple(axes if extent > 1 else () for axes, extent in zip(wanted.dims, split, strict=True))
        if is_parameter(given):
            size = wanted.layout.tile[1]

            def form(data: np.ndarray) -> np.ndarray:
                data = data.reshape(split).astype(ml_dtypes.bfloat16)
                return data if near is None else _near(data, rows, size, near)

            dims = dims if near is None else (*dims[:3], *wanted.dims[3:])
            given = given.formed("of_heads", form, dims)
        else:
            given = in_shape(at, given, split)
            given = renamed(at, given, dims)
        return at.in_layout(given, restricted(wanted.layout, dims), "a mask is added to scores").stream


def _added(data: np.ndarray) -> np.ndarray:
    """A mask as numbers that are added."""
    if data.dtype == bool:
        return np.where(data, 0.0, NEVER).astype(np.float32)
    return np.maximum(data.astype(np.float32), np.float32(NEVER))


def _hidden(rows: int, keys: int, *, causal: bool, window: int | None) -> np.ndarray:
    query, key = np.arange(keys - rows, keys)[:, None], np.arange(keys)[None]
    ahead = (key > query) & causal
    return ahead if window is None else ahead | (key <= query - window)


def _near(data: np.ndarray, rows: int, size: int, near: tuple[int, int]) -> np.ndarray:
    """Of a mask [.., rows, keys] those of each row that are in tiles near its own."""
    before, behind = near
    data = np.broadcast_to(data, (*data.shape[:-2], rows, rows))
    around = [(0, 0)] * (data.ndim - 1) + [(before * size, behind * size)]
    padded = np.pad(data, around, constant_values=np.asarray(NEVER, data.dtype))
    width = (before + behind + 1) * size
    return np.stack([padded[..., row, row // size * size :][..., :width] for row in range(rows)], -2)
