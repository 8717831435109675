"""Amounts of the datapaths of functions, by their plans."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from step.language.function import Function
from step.language.types import ElementType, Selector, Tile
from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.pick import RotatePlan
from step.lowering.plans.plan import Application
from step.lowering.plans.retile import JoinPlan, SplitPlan
from step.lowering.plans.row import RowPlan
from step.lowering.plans.vector import VectorPlan
from step.lowering.plans.words import Store
from step_explore.areas.amounts import Amounts


def formats(elements: Sequence[ElementType]) -> str:
    """The formats of tiles, for a name."""
    return "x".join(each.dtype.name if isinstance(each, Tile) else "control" for each in elements)


def datapath(function: Function, application: Application, plan: Any) -> Amounts:
    """The amounts of the datapath of ``function`` with ``plan``; tiles of dynamic size have the most rows."""
    found = Amounts()
    _add(plan, found, function, application)
    return found


@singledispatch
def _add(plan: Any, found: Amounts, function: Function, application: Application) -> None:
    """Wires, registers and counters of what has no lanes, in parts of the words and of whole elements.

    Logic that finds the lowest of targets is for each of them.
    """
    result, first = application.result, application.inputs[0]
    found.one(function.name, bits=result.bits, word_bits=min(result.bits, 8 * application.fabric.link_bytes))
    if isinstance(first, Selector):
        found.put(f"{function.name}.targets", first.targets)
    elif isinstance(result, Tile):
        found.put(f"{function.name}.scalars", result.bits // result.dtype.bits)


@_add.register
def _(plan: MatmulPlan, found: Amounts, function: Function, application: Application) -> None:
    """Lanes, the stores of operands in front of them, sums, and the store of the result."""
    shape, dtype = plan.arrangement, plan.operands[0].dtype
    found.put(f"matmul.lanes.{dtype.name}", shape.lanes)
    found.put(f"matmul.lane_stages.{dtype.name}", shape.lanes * shape.stages)
    found.put(f"matmul.rounded_lanes.{plan.result.dtype.name}", shape.lanes)
    found.one("matmul", reduce=plan.reduce, dynamic=application.dynamic)
    for port, operand in enumerate(plan.operands):
        banks, items = plan.banks[port]
        width = min(operand.dtype.bits, operand.word_bits)
        ports = (shape.block_rows if port == 0 else shape.block_cols) * (operand.dtype.bits // width)
        if plan.assembled[port]:
            found.put("matmul.assembled_bits", operand.bits)
        else:
            places = plan.copies[port] << (items - 1).bit_length()
            found.memory(width * banks, places, deep=plan.deep_operands[port])
            found.put("matmul.chosen_bits", (banks - ports) * width)
            found.put("matmul.operand_places", places)
    if plan.reduce or (shape.inner > 1 and plan.turns[1] != shape.stages):
        found.memory(32 * shape.lanes, plan.sums, deep=plan.deep_sums)
        found.put("matmul.kept_sums", 32 * shape.lanes)
    bits = min(plan.result.dtype.bits, plan.result.word_bits)
    if plan.shifts:
        found.put("matmul.shifted_bits", plan.result.bits)
    else:
        banks, items = plan.result_banks
        found.memory(bits * banks, plan.results << (items - 1).bit_length(), deep=plan.deep_results)
        found.put("matmul.result_chosen_bits", banks * bits - plan.result.word_bits)


@_add.register
def _(plan: VectorPlan, found: Amounts, function: Function, application: Application) -> None:
    """Lanes, stores of words that wait to become groups, and of groups that become words."""
    elements = (application.result, *application.inputs) if plan.reduce else application.inputs
    kind = f"{function.name}.lanes.{formats(elements)}.{formats([application.result])}"
    found.put(kind, plan.lanes)
    found.put("vector.lane_stages", plan.lanes * application.fabric.stages)
    found.one("vector", dynamic=application.dynamic)
    for operand in plan.operands:
        store = plan.store(operand)
        _store(found, store, "vector.repeated_bits", operand.bits)
        if store is not None and store.picked:
            found.put("vector.chosen_bits", store.read.count * store.read.bits * store.copies)
    _store(found, plan.result_store)
    if plan.reduce:
        bits = plan.lanes * plan.result.dtype.bits
        found.shallow(bits, plan.groups)
        found.put("vector.state_bits", bits)
        found.put("vector.identity_bits", plan.result.word_bits)


@_add.register
def _(plan: RowPlan, found: Amounts, function: Function, application: Application) -> None:
    """The joins of a tree, those behind it in time, and stores on either side."""
    shape, source = plan.arrangement, plan.tile.dtype
    later = plan.levels - (shape.across - 1).bit_length()
    if plan.terms > 1:
        found.put(f"{function.name}.terms.{source.name}", shape.down * shape.across)
        found.put(f"{function.name}.gathers.{source.name}", shape.down * shape.across // plan.terms)
    found.put(f"{function.name}.joins.{source.name}", shape.down * (shape.across // plan.terms - 1) + later)
    found.put(f"{function.name}.lanes.{source.name}", shape.lanes)
    found.put(f"{function.name}.rounded.{plan.result.dtype.name}", shape.down * plan.rounds)
    found.put("row.later_bits", later * source.bits)
    found.one("row", dynamic=application.dynamic)
    _store(found, plan.store, "row.repeated_bits", plan.tile.bits)
    found.put("row.result_bits", plan.result.bits * plan.result_store.copies)


@_add.register
def _(plan: RotatePlan, found: Amounts, function: Function, application: Application) -> None:
    """The registers of one window or two, and what chooses among their words."""
    word = plan.tile.word_bits
    kept = plan.store.copies * plan.window * word
    found.one("rotate_half", kept_bits=kept, word_bits=word, chosen_bits=word * plan.window)


@_add.register
def _(plan: JoinPlan, found: Amounts, function: Function, application: Application) -> None:
    """A memory of rows, or of columns that leave in another order; or registers."""
    store, whole, word = plan.store, plan.bits, min(plan.link_bits, plan.bits)
    if plan.packs:
        kind = "join.packed"
        found.shallow(store.read.bits, store.read.count)
    elif plan.in_rows:
        kind = "join.rows"
        _store(found, store)
    elif plan.in_columns:
        kind, item = "join.columns", min(plan.width, plan.link_bits)
        _items(found, kind, item, store.written.bits // item * (word // item), whole, word)
    else:
        kind = "join.registers"
    found.one(kind, bits=whole, word_bits=word)


@_add.register
def _(plan: SplitPlan, found: Amounts, function: Function, application: Application) -> None:
    """Pieces that are read where they lie, or out of two words, of a memory, or of registers."""
    piece = min(plan.link_bits, plan.result_bits)
    if plan.slides:
        kind, chosen = "split.sliding", plan.link_bits
    elif plan.there:
        kind, chosen = "split.there", plan.bits
    elif plan.lies_whole or plan.lies_within:
        kind, chosen = "split.lying", min(plan.bits, plan.link_bits)
    elif plan.turns:
        kind, chosen, item = "split.turned", 0, min(plan.width, plan.link_bits)
        _items(found, kind, item, max(1, plan.link_bits // item) ** 2, plan.bits, piece)
    else:
        kind, chosen = "split.registers", plan.bits
    found.one(kind, bits=chosen, word_bits=piece)
    found.put("split.collected_bits", plan.result_bits * plan.collects_control)


def _items(found: Amounts, kind: str, item: int, banks: int, bits: int, leave: int) -> None:
    """Memories of items, twice as many as an element of so many ``bits`` has, which leave in another order."""
    places = -(-bits // item // banks)
    found.shallow(item * banks, 2 << (places - 1).bit_length())
    found.put(f"{kind}.chosen_bits", item * banks - leave)


def _store(found: Amounts, store: Store | None, picked: str = "", bits: int = 0) -> None:
    """A memory of parts, of which as many of the narrower ones as fit make a wider one; or nothing.

    Where parts are picked out of registers, these are ``picked``, ``bits`` for an element.
    """
    if store is None or store.picked:
        found.put(picked, bits * (store.copies if store else 0))
        return
    written, read = store.written.bits, store.read.bits
    narrow, wide = sorted((store.written, store.read), key=lambda each: each.bits)
    ratio = narrow.count if wide.count == 1 else wide.bits // narrow.bits
    banks = ratio if written <= read else 1
    found.shallow(written, store.copies * wide.count, banks)
    if wide.count == 1 and store.copies == 1:
        found.put("store.written_bits", written * banks)
    if read < written or ratio == 1:
        found.put("store.chosen_bits", written - read)
