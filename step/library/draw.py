"""One of many columns, drawn at random by their scores."""

from __future__ import annotations

from math import inf

from step.errors import ProgramError
from step.functions.cast import Cast
from step.functions.compare import Compare, Where
from step.functions.elementwise import Add, Max, Min, Mul, Scale, Sub
from step.functions.exp import Exp
from step.functions.max_index import MaxIndex
from step.functions.pick import Column
from step.functions.retile import RetileStreamify
from step.functions.threefry import Threefry
from step.language.arguments import checked
from step.language.dtypes import FP32, INT32, UINT32
from step.language.function import NUMBER
from step.language.stream import Stream
from step.language.types import Tile


@checked
def draw(
    scores: Stream,
    seed: Stream,
    number: Stream,
    sharpness: Stream,
    top_k: Stream,
    top_p: Stream,
    *,
    most: int = 64,
    name: str = "draw",
) -> Stream:
    """The column that is drawn, each with the probability softmax(score * sharpness), for every row of ``scores``.

    ``scores``: a stream ``[.., n]`` of tiles ``[rows, 1]`` of BF16 or FP32, column by column. The others are streams
    ``[..]`` of tiles ``[rows, 1]``:
    ``seed``, ``number``: UINT32; random is `Threefry` of both, so the same two draw the same.
    ``sharpness``: FP32, 1 / temperature.
    ``top_k``: UINT32; the columns with the so many largest scores are drawn from, up to ``most``.
    ``top_p``: FP32; of these, as few of the most likely as have this part of their probability together.

    The result is a stream ``[..]`` of UINT32 tiles ``[rows, 1]``. Raises `ProgramError` where n or the tiles are not
    static.
    """
    graph, element = scores.graph, scores.element
    if not isinstance(element, Tile) or not element.is_static or scores.rank < 1 or not scores.shape[-1].is_static:
        where = f"draw {name!r} ({graph.here})"
        raise ProgramError(f"{where}: scores must be a fixed number of static tiles, but {scores} is {scores.type}")
    count = int(scores.shape[-1])
    most = min(most, count)

    def named(what: str) -> str:
        return f"{name}_{what}"

    rows = [[0]] * int(element.rows)
    column = graph.generate(NUMBER, range(count), reference=scores, name=named("column"))
    column = column.map(Add(), graph.constant(rows, dtype=UINT32, reference=scores, name=named("rows")))
    best = scores.accum(MaxIndex(most), column, name=named("best"))
    values = best.item_of(0, name=named("values"))

    def each(stream: Stream, what: str) -> Stream:
        """One of the best after the other, [.., most]."""
        return stream.repeat(most, name=named(what))

    powers = values.flat_map(RetileStreamify(1, "col", rank=1), name=named("value"))
    powers = powers.map(Sub(FP32), each(values.map(Column(0), name=named("largest")), "each_largest"))
    powers = powers.map(Mul(), each(sharpness, "sharpness")).map(Exp(), name=named("power"))
    place = graph.generate(NUMBER, range(most), reference=powers, name=named("place"))
    nothing = graph.constant(0, dtype=FP32, reference=powers, name=named("nothing"))
    likely = place.map(Compare("<"), each(top_k, "top_k")).map(Where(), powers, nothing, name=named("likely"))
    sums = likely.scan(Add(), name=named("sums")).buffered(2 * most)
    limit = sums.accum(Max(), name=named("total")).map(Mul(), top_p, name=named("limit"))
    beyond = graph.constant(inf, dtype=FP32, reference=sums, name=named("beyond"))
    enough = sums.map(Compare(">="), each(limit, "limits"), name=named("enough"))
    kept = enough.map(Where(), sums, beyond).accum(Min(), name=named("kept"))
    part = seed.map(Threefry(), number, name=named("random")).map(Cast(FP32)).map(Scale(2.0**-32), name=named("part"))
    target = each(kept.map(Mul(), part, name=named("target")), "targets")
    rest = graph.generate(Tile(INT32), range(most, 0, -1), reference=sums, name=named("rest"))
    none = graph.constant(0, dtype=INT32, reference=sums, name=named("none"))
    reached = sums.map(Compare(">="), target).map(Where(), rest, none, name=named("reached"))
    columns = best.item_of(1, name=named("columns")).flat_map(
        RetileStreamify(1, "col", rank=1), name=named("each_column")
    )
    return reached.accum(MaxIndex(), columns, name=named("first")).item_of(1, name=name)
