"""The two loops of a program that writes: through the layers, and from a token to the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

from step import BOOL, INT32, UINT32, DType, Selector, Stream, Tile
from step.errors import InputError
from step.functions import ArgMax, Compare, Min, RetileRow, RetileStreamify, RowMax, SelectValid, Transpose, Where
from step.language.dims import Dim
from step.library import arg_max, draw
from step_torch.importing import Importer
from step_torch.joined import of_same_rows
from step_torch.layouts import AxisPart, TensorAxis, TileLayout, Value
from step_torch.lowerings.elementwise import cast
from step_torch.lowerings.shared import SharedUnits
from step_torch.ragged import filled
from step_torch.rounds import IN_LAYER, EveryLayer, KeptState
from step_torch.sampling import DRAWN
from step_torch.sources import Sources

if TYPE_CHECKING:
    from step_torch.generating import LanguageModel


@dataclass
class DecodingLoops:
    """The two loops of the program, around the nodes of ``model``.

    ``steps`` are the rows that enter the layers, ``asked`` those that leave them. With several ``slots`` a row is a
    tile that has one of each; where a ``chunk`` of a prompt has several rows, it is a tile of so many, or fewer.
    """

    model: LanguageModel
    importer: Importer
    slots: int
    chunk: int
    values: bool
    is_drawn: bool
    with_scores: bool

    def __post_init__(self) -> None:
        graph, self.is_chunk = self.importer.graph, self.chunk > 1
        kind, count = ("chunk", self.chunk) if self.is_chunk else ("slots", self.slots)
        self.rows = AxisPart(TensorAxis(kind, count), count) if count > 1 else None
        symbols = "rounds", "steps", "asked_rows", "most_asked"
        self.rounds, self.steps, self.asked, self.most_asked = map(graph.symbol, symbols)
        self.each = self._each("rows_of_round")
        self.goes_on = graph.feedback(Selector(1), [self.asked], name="goes_on")

    def _each(self, name: str) -> list[Dim | int]:
        """Rows of a tile: a symbol of this ``name`` where these differ from chunk to chunk."""
        if self.rows is None:
            return []
        return [self.importer.graph.symbol(name, ragged=True) if self.is_chunk else self.slots]

    def place(self) -> None:
        """Place all operators."""
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        back = graph.feedback(Tile(UINT32), [graph.symbol("again")], name="token_back")
        stop, unused = self._of_asked("stop", UINT32), self._of_asked("unused", BOOL)
        schedule = self._schedule()
        prompt = graph.source("prompt", Tile(UINT32), [graph.symbol("length")])
        of_step = [self.steps, *self._each("rows_of_step")]
        given = self._of_steps("given", schedule).assume_shape(of_step)
        merged = graph.reassemble([prompt, back.stream], given, order="index", name="token_in")
        token = step = merged.flatten(0, 1, name="token").assume_shape(of_step)
        if self.rows is not None:
            step = token.accum(RetileRow(), name="tokens_of_step")
            token = step.flat_map(RetileStreamify(1, "row", rank=1), name="token_of_row").assume_shape(of_step)
        ids, positions = self.model.nodes.inputs[:2]
        numbers = {ids: token}
        if any(positions in node.reads for node in parts.entry):
            numbers[positions] = self._of_steps("position", schedule).assume_shape(of_step)
        at.sources = Sources(at, step, numbers, self.rows)
        at.lower(parts.entry)
        at.values[parts.last] = self._layers(self._row(parts.row_in, self.rows), schedule)
        rows = None if self.is_chunk else self.rows  # of a chunk the last row alone is asked
        at.sources = Sources(at, stop, rows=rows)  # weights of the head, too, come before the row
        at.lower(parts.head)
        chosen = self._chosen(at.values[self.model.nodes.outputs[0]])
        each = self._apart(chosen, "token_each")
        each.sink("tokens")
        if not self.values:
            chosen = graph.constant([[0]] * self.slots, dtype=UINT32, reference=chosen, name="any_token")
            each = self._apart(chosen, "any_token_each")
        over = self._over(chosen.map(Compare("=="), stop, name="ends"))
        self.goes_on.close(over.map(SelectValid(), name="next"))
        done = self._apart(over.map(Where(), over, unused, name="done"), "done_each")
        (again,) = each.partition(done.map(SelectValid(), name="used"), targets=1, name="token_out")
        back.close(again.assume_shape(back.type.shape))

    def _chosen(self, given: Any) -> Stream:
        """The token of the largest score, or one that is drawn."""
        at = self.importer
        scores = at.value(given) if self.with_scores or self.is_drawn else at.tiles(given)
        for axis in scores.ragged:
            scores = filled(at, scores, axis, -inf)
        if self.with_scores:
            scores.stream.sink("scores")
        is_cut = bool(scores.layout.loops)  # a large vocabulary comes in tiles, one after the other
        if self.is_drawn:
            columns = scores.stream.flat_map(RetileStreamify(1, "col", rank=1 - is_cut), name="score")
            return draw(columns, *(self._of_asked(name, dtype) for name, dtype in DRAWN.items()), name="chosen")
        return arg_max(scores.stream, name="chosen") if is_cut else scores.stream.map(ArgMax(), name="chosen")

    def _apart(self, stream: Stream, name: str) -> Stream:
        """What a row has of each slot, one by one."""
        return stream.flat_map(RetileStreamify(1, "row"), name=name) if self.slots > 1 else stream

    def _over(self, ends: Stream) -> Stream:
        """Whether no slot goes on behind a row: of several, one that ends does not in any row to come."""
        if self.slots == 1:
            return ends
        graph = self.importer.graph
        back = graph.feedback(Tile(INT32, self.slots), [graph.symbol("slots_again")], name="going_back")
        first = graph.constant([[1]] * self.slots, [1], dtype=INT32, name="all_going")
        begun = self._of_asked("begun", Selector(2))
        before = graph.reassemble([first, back.stream], begun, order="index", name="going_in")
        before = before.flatten(0, 1, name="going_before").assume_shape([self.asked])
        none = graph.constant(0, dtype=INT32, reference=ends, name="none")
        going = ends.map(Where(), none, self._of_asked("going", INT32), name="going_behind")
        going = going.map(Min(), before, name="going_on")
        on = going.map(Transpose(), name="slots_on").map(RowMax(), name="any_on")
        over = on.map(Compare("=="), none, name="over")
        (again,) = going.partition(over.map(SelectValid(), name="going_next"), targets=1, name="going_out")
        back.close(again.assume_shape(back.type.shape))
        return over

    def _of_asked(self, name: str, element: DType | Selector, each: Sequence[Dim | int] = ()) -> Stream:
        """The input ``name`` for every row that is asked, as far as there is another one; or for ``each`` of a tile."""
        kind = element if isinstance(element, Selector) else Tile(element, self.slots)
        found = self.importer.graph.source(name, kind, [self.most_asked, *(self._each(f"most_{name}") if each else ())])
        return found.until(self.goes_on.stream, name=f"{name}_now").assume_shape([self.asked, *each])

    def _schedule(self) -> dict[str, Stream]:
        """Inputs for every round [rounds], as far as there is another one: most rounds do not ask for that."""
        graph, most = self.importer.graph, self.importer.graph.symbol("most")
        flags = graph.feedback(Selector(1), [self.rounds], name="another")
        found = dict[str, Stream]()
        of_rows = "position", "given", *(("first", "more") if self.is_chunk else ())
        for name in (*of_rows, "layer", "enters", "entering", "leaves", "asked", "quiet"):
            is_number, is_single = name in ("position", "layer"), name in ("entering", "quiet", "more")
            element = Tile(UINT32) if is_number else Selector(1 if is_single else 2)
            each, most_of_it = (self.each, self._each(f"most_{name}")) if name in of_rows else ([], [])
            all_of_it = graph.source(name, element, [most, *most_of_it])
            found[name] = all_of_it.until(flags.stream, name=f"{name}_now").assume_shape([self.rounds, *each])
        if self.importer.tiling.shared:
            most_turns, products = graph.symbol("most_turns", ragged=True), of_same_rows(self.model.parts.layer)
            if not products:
                missing = "has no products of integers in a layer, whose units could be shared"
                raise InputError(f"'{self.model.archive.path}' {missing}")
            turn = graph.source("turn", Selector(len(products)), [most, most_turns]).until(
                flags.stream, name="turn_now"
            )
            found["turn"] = turn.assume_shape([self.rounds, graph.symbol("turns_of_round", ragged=True)])
        (always,) = found["quiet"].partition(found["quiet"], targets=1, name="always")
        another = graph.reassemble([always, self.goes_on.stream], found["asked"], order="index", name="another_each")
        flags.close(another.flatten(0, 1, name="another_round").assume_shape([self.rounds]))
        return found

    def _of_steps(self, name: str, schedule: dict[str, Stream]) -> Stream:
        """The input ``name`` for the rounds in which a row enters."""
        entering, rank = schedule["entering"], len(self.each)
        (found,) = schedule[name].partition(entering, targets=1, rank=rank, name=f"{name}_of_step")
        return found

    def _row(self, name: str, rows: AxisPart | None) -> Value:
        value = self.importer.whole_rows(self.importer.values[name], "a row goes through the layers as a whole")
        if value.layout != TileLayout((), rows, value.layout.columns):
            raise InputError(f"what goes through the layers is no single row, but {value.layout}")
        return replace(value, stream=cast(self.importer, value.stream, value.dtype))

    def _layers(self, row: Value, schedule: dict[str, Stream]) -> Value:
        """``row`` [steps] through all layers, each of which is the same hardware."""
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        count = parts.count
        entering, rank, room = self._apart_in_chunk(row.stream, "entering_rows"), int(self.is_chunk), count + 1
        again = [graph.symbol("rows_again"), *(self._each("rows_of_again") if self.is_chunk else ())]
        back = graph.feedback(entering.element, again, name="rows_back")
        back_again = back.stream.buffered(room * self.rows.count if self.is_chunk and self.rows else room)
        merged = graph.reassemble([entering, back_again], schedule["enters"], rank=rank, order="index", name="row_in")
        stream = merged.flatten(rank, rank + 1, name="row")
        stream = stream.assume_shape([self.rounds, *(self.each if self.is_chunk else ())])
        rows = None if self.is_chunk and at.tiling.shared else self.rows  # units that are shared make tiles of rows
        if self.is_chunk:
            stream = stream.flatten(0, 1, name="each_row") if rows is None else stream.accum(RetileRow(), name="chunk")
        held, named = self.model.archive.weights, parts.parameters.items()
        weights = {at.values[name].name: [held[each] for each in own] for name, own in named}
        position, number = schedule["position"], schedule["layer"]
        numbers = {self.model.nodes.inputs[1]: position}
        at.sources = sources = EveryLayer(
            at, reference=stream, numbers=numbers, rows=rows, layers=count, weights=weights, length=position,
            room=self.model.room, number=number, first=schedule.get("first"), more=schedule.get("more"),
            chunk=self.chunk,
        )  # fmt: skip
        states = {new: KeptState(sources, at.values[name]) for new, name in parts.states.items()}
        at.values.update((parts.states[new], each.now) for new, each in states.items())
        at.lower(parts.tables)
        if at.tiling.shared:
            sources.units = SharedUnits(at, sources, parts.layer, schedule["turn"])
        layout = replace(row.layout, rows=rows)
        at.values[parts.row_in] = sources.for_several(replace(row, stream=stream, layout=layout))
        at.lower(parts.layer)
        result = self._row(parts.row_out, rows)
        stream, layout = result.stream, result.layout
        if states:
            done = [each.close(at.value(at.values[new])) for new, each in states.items()]
            stream = stream.zip(*done, name="row_and_states").item_of(0, name="row_kept")
        by_row = sources.is_by_row
        stream = sources.of_chunks(stream) if by_row else stream
        leaves = schedule["leaves"].buffered(4 * IN_LAYER) if by_row else schedule["leaves"]
        goes_back, out = stream.partition(leaves, targets=2, rank=int(by_row), name="row_out")
        goes_back = goes_back if by_row else self._apart_in_chunk(goes_back, "rows_of_again")
        back.close(goes_back.assume_shape(back.type.shape))
        if self.is_chunk:
            each = [self.asked, *self._each("rows_of_asked")]
            out = out if by_row else self._apart_in_chunk(out, "asked_rows")
            last = self._of_asked("last", Selector(1), each[1:])
            (out,) = out.assume_shape(each).partition(last, targets=1, name="last_row")
            layout = replace(layout, rows=None)
        return replace(result, stream=out.assume_shape([self.asked]), layout=layout)

    def _apart_in_chunk(self, stream: Stream, name: str) -> Stream:
        """The rows [.., rows] of a chunk."""
        return stream.flat_map(RetileStreamify(1, "row", rank=1), name=name) if self.is_chunk else stream
