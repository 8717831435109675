"""The two loops of a program that writes: through the layers, and from a token to the next one."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from step import BOOL, INT32, UINT32, DType, Selector, Stream, Tile
from step.errors import InputError
from step.functions import ArgMax, Compare, Min, RetileStreamify, RowMax, SelectValid, Transpose, Where
from step.library import arg_max, draw
from step_torch.importing import Importer
from step_torch.layouts import AxisPart, TensorAxis, TileLayout, Value
from step_torch.lowerings.elementwise import cast
from step_torch.ragged import filled
from step_torch.rounds import EveryLayer, KeptState
from step_torch.sampling import DRAWN
from step_torch.sources import Sources

if TYPE_CHECKING:
    from step_torch.generating import LanguageModel


class DecodingLoops:
    """The two loops of the program, around the nodes of ``model``.

    ``steps`` are the rows that enter the layers, ``asked`` those that leave them. With several ``slots`` a row is a
    tile that has one of each.
    """

    def __init__(
        self, model: LanguageModel, importer: Importer, slots: int, *, values: bool, is_drawn: bool, with_scores: bool
    ) -> None:
        self.model, self.importer = model, importer
        self.values, self.is_drawn, self.with_scores = values, is_drawn, with_scores
        self.slots, self.each = slots, [slots] if slots > 1 else []
        self.rows = AxisPart(TensorAxis("slots", slots), slots) if slots > 1 else None
        symbols = "rounds", "steps", "asked_rows", "most_asked"
        self.rounds, self.steps, self.asked, self.most_asked = map(importer.graph.symbol, symbols)
        self.goes_on = importer.graph.feedback(Selector(1), [self.asked], name="goes_on")

    def place(self) -> None:
        """Place all operators."""
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        back = graph.feedback(Tile(UINT32), [graph.symbol("again")], name="token_back")
        stop, unused = self._of_asked("stop", UINT32), self._of_asked("unused", BOOL)
        schedule = self._schedule()
        prompt = graph.source("prompt", Tile(UINT32), [graph.symbol("length")])
        given = self._of_steps("given", schedule)
        given = given.flatten(0, 1, name="given_each") if self.each else given
        merged = graph.reassemble([prompt, back.stream], given, order="index", name="token_in")
        token = merged.flatten(0, 1, name="token").assume_shape([self.steps * self.slots])
        if self.each:
            token = token.reshape(self.slots, name="token_of_slots")[0].assume_shape([self.steps, self.slots])
        ids, positions = self.model.nodes.inputs[:2]
        numbers = {ids: token}
        if any(positions in node.reads for node in parts.entry):
            numbers[positions] = self._of_steps("position", schedule)
        at.sources = Sources(at, token, numbers, self.rows)
        at.lower(parts.entry)
        row = self._layers(self._row(parts.row_in), schedule)
        at.sources = Sources(at, stop, rows=self.rows)  # weights of the head, too, come before the row
        at.values[parts.last] = row
        at.lower(parts.head)
        chosen = self._chosen(at.values[self.model.nodes.outputs[0]])
        each = self._apart(chosen, "token_each")
        each.sink("tokens")
        if not self.values:
            chosen = graph.constant([[0]] * self.slots, dtype=UINT32, reference=chosen, name="any_token")
            each = self._apart(chosen, "any_token_each")
        ends = chosen.map(Compare("=="), stop, name="ends")
        over = self._over(ends)
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
        return stream.flat_map(RetileStreamify(1, "row"), name=name) if self.each else stream

    def _over(self, ends: Stream) -> Stream:
        """Whether no slot goes on behind a row: of several, one that ends does not in any row to come."""
        if not self.each:
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
        over = (
            going.map(Transpose(), name="slots_on").map(RowMax(), name="any_on").map(Compare("=="), none, name="over")
        )
        (again,) = going.partition(over.map(SelectValid(), name="going_next"), targets=1, name="going_out")
        back.close(again.assume_shape(back.type.shape))
        return over

    def _of_asked(self, name: str, element: DType | Selector) -> Stream:
        """The input ``name`` for every row that is asked, as far as there is another one."""
        kind = element if isinstance(element, Selector) else Tile(element, self.slots)
        found = self.importer.graph.source(name, kind, [self.most_asked])
        return found.until(self.goes_on.stream, name=f"{name}_now").assume_shape([self.asked])

    def _schedule(self) -> dict[str, Stream]:
        """Inputs for every round [rounds], as far as there is another one: most rounds do not ask for that."""
        graph, most = self.importer.graph, self.importer.graph.symbol("most")
        flags = graph.feedback(Selector(1), [self.rounds], name="another")
        found = dict[str, Stream]()
        for name in ("position", "layer", "enters", "entering", "leaves", "given", "asked", "quiet"):
            is_number, is_single = name in ("position", "layer"), name in ("entering", "quiet")
            element = Tile(UINT32) if is_number else Selector(1 if is_single else 2)
            each = self.each if name in ("position", "given") else []
            all_of_it = graph.source(name, element, [most, *each])
            found[name] = all_of_it.until(flags.stream, name=f"{name}_now").assume_shape([self.rounds, *each])
        (always,) = found["quiet"].partition(found["quiet"], targets=1, name="always")
        another = graph.reassemble([always, self.goes_on.stream], found["asked"], order="index", name="another_each")
        flags.close(another.flatten(0, 1, name="another_round").assume_shape([self.rounds]))
        return found

    def _of_steps(self, name: str, schedule: dict[str, Stream]) -> Stream:
        """The input ``name`` for the rounds in which a row enters."""
        entering, rank = schedule["entering"], len(self.each)
        (found,) = schedule[name].partition(entering, targets=1, rank=rank, name=f"{name}_of_step")
        return found.assume_shape([self.steps, *self.each])

    def _row(self, name: str) -> Value:
        value = self.importer.whole_rows(self.importer.values[name], "a row goes through the layers as a whole")
        if value.layout != TileLayout((), self.rows, value.layout.columns):
            raise InputError(f"what goes through the layers is no single row, but {value.layout}")
        return replace(value, stream=cast(self.importer, value.stream, value.dtype))

    def _layers(self, row: Value, schedule: dict[str, Stream]) -> Value:
        """``row`` [steps] through all layers, each of which is the same hardware."""
        parts, at, graph = self.model.parts, self.importer, self.importer.graph
        count = parts.count
        back = graph.feedback(row.stream.element, [graph.symbol("rows_again")], name="rows_back")
        rows = [row.stream, back.stream.buffered(count + 1)]
        merged = graph.reassemble(rows, schedule["enters"], order="index", name="row_in")
        stream = merged.flatten(0, 1, name="row").assume_shape([self.rounds])
        weights = {
            at.values[name].name: [self.model.archive.weights[each] for each in own]
            for name, own in parts.parameters.items()
        }
        position, number = schedule["position"], schedule["layer"]
        numbers = {self.model.nodes.inputs[1]: position}
        at.sources = EveryLayer(
            at, reference=stream, numbers=numbers, rows=self.rows, layers=count, weights=weights, length=position,
            room=self.model.room, number=number,
        )  # fmt: skip
        states = {new: KeptState(at.sources, at.values[name]) for new, name in parts.states.items()}
        at.values.update((parts.states[new], each.now) for new, each in states.items())
        at.lower(parts.tables)
        at.values[parts.row_in] = replace(row, stream=stream)
        at.lower(parts.layer)
        result = self._row(parts.row_out)
        stream = result.stream
        if states:
            done = [each.close(at.value(at.values[new])) for new, each in states.items()]
            stream = stream.zip(*done, name="row_and_states").item_of(0, name="row_kept")
        again, out = stream.partition(schedule["leaves"], targets=2, name="row_out")
        back.close(again.assume_shape(back.type.shape))
        return replace(result, stream=out.assume_shape([self.asked]))
