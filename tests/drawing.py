"""What is drawn of scores, as NumPy computes it in float64."""

from __future__ import annotations

import numpy as np

from step.functions.threefry import Threefry


def drawn(scores: np.ndarray, seed: int, number: int, temperature: float, top_k: int, top_p: float) -> int:
    """The column of ``scores`` that number ``number`` of ``seed`` draws."""
    scores = scores.astype(np.float64)
    best = np.argsort(-scores, kind="stable")[:top_k]
    sums = np.cumsum(np.exp((scores[best] - scores[best[0]]) / temperature))
    kept = sums[np.searchsorted(sums, top_p * sums[-1])]
    random = Threefry().apply(np.array([[seed]], np.uint32), np.array([[number]], np.uint32)).item() / 2**32
    return int(best[np.searchsorted(sums, random * kept)])
