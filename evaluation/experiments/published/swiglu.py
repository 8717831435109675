"""The graph behind Fig. 8 of the paper, the validation against HDL: a SwiGLU layer, with all of D in a tile."""

from __future__ import annotations

from step import BF16, Graph, Stream
from step.functions import Matmul, Mul, Silu

Extents = tuple[int, ...]


def graph(rows: int, columns: int, *, batch: int = 64, hidden: int = 256, inner: int = 512) -> Graph:
    """The layer on a batch [batch, hidden] in tiles of ``rows`` rows; weights in tiles of ``columns`` columns of F."""
    made = Graph(f"swiglu_{rows}_{columns}")
    m, f = batch // rows, inner // columns

    def load(name: str, shape: Extents, tile: Extents, out: Extents, stride: Extents) -> Stream:
        return made.load(made.tensor(name, shape, BF16), tile=tile, out=out, stride=stride, name=f"load_{name}")

    x = load("x", (batch, hidden), (rows, hidden), (m, f, 1), (1, 0, 1))
    gate = load("gate", (hidden, inner), (hidden, columns), (m, f, 1), (0, 1, f))
    up = load("up", (hidden, inner), (hidden, columns), (m, f, 1), (0, 1, f))
    down = load("down", (inner, hidden), (columns, hidden), (m, 1, f), (0, 0, 1))
    gates = x.accum(Matmul(), gate, name="gate_projection").map(Silu(out=BF16), name="activation")
    ups = x.accum(Matmul(), up, name="up_projection")
    state, _ = gates.map(Mul(out=BF16), ups, name="gated").reshape(1, rank=1, name="blocks")
    state.accum(Matmul(), down, name="down_projection").store("y")
    return made
