"""Timing of arithmetic of single scalars."""

from __future__ import annotations

import math

from sim_approx.timing import Timing
from step.functions.elementwise import Add, Mul, MulAdd, Scale, Sub
from step.language.dtypes import BF16, FP32, DType
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application
from step.lowering.links import beats


def timing(function: Function, application: Application) -> Timing:
    """A sum or a product takes `FabricConfig.stages` cycles, all else one.

    A product of BF16 numbers or of integers takes at most 2, a sum of integers one. Rounding the FP32 result to BF16
    takes one more.
    """
    operands = (application.result, *application.inputs) if application.reduce else application.inputs
    formats = [each.dtype for each in operands if isinstance(each, Tile)]
    stages = application.fabric.stages
    adds = stages if formats[0].is_float else 1
    match function:
        case Add() | Sub():
            cycles = adds
        case Mul():
            cycles = _product(formats, stages)
        case Scale():
            cycles = stages if formats[0].is_float else min(stages, 2)
        case MulAdd():
            cycles = _product(formats[:2], stages) + adds
        case _:
            cycles = 1
    return vector_timing(application, cycles=cycles + rounding(application))


def _product(formats: list[DType], stages: int) -> int:
    """Cycles of a product of two numbers."""
    return stages if FP32 in formats else min(stages, 2)


def vector_timing(application: Application, *, cycles: int) -> Timing:
    """Cycles of a function whose lanes take ``cycles``, on at most `vector_lanes` of them.

    In a cycle the lanes work on a group of scalars, of which words are made. A reduction wants the state back before
    the next element. Of the lanes that reach the shortest interval the fewest are taken; their operands are
    registered. Before them words wait where groups are no words; behind them results do, and all states.
    """
    result, link, lanes = application.result, application.fabric.link_bytes, application.fabric.vector_lanes
    assert isinstance(result, Tile)
    scalars = int(result.elements)
    tiles = [each for each in (*application.inputs, result) if isinstance(each, Tile)]
    of_a_word = [max(1, 8 * link // each.dtype.bits) for each in tiles if beats(each, link) > 1]
    common = math.gcd(*of_a_word)
    possible = [each for each in range(1, min(lanes, scalars) + 1) if common % each == 0]
    interval = max(
        -(-scalars // possible[-1]), *(beats(each, link) for each in tiles), cycles if application.reduce else 1
    )
    used = next(each for each in possible if -(-scalars // each) <= interval)
    groups, words = -(-scalars // used), beats(result, link)
    before = max(_gathering(each, result, used, link) for each in tiles[:-1])
    behind = 0 if groups == words and not application.reduce else 1 + max(0, groups - words)
    return Timing(interval, before + cycles + behind, streams=True)


def _gathering(operand: Tile, result: Tile, lanes: int, link: int) -> int:
    """Cycles from the first word of ``operand`` to the first group of scalars on ``lanes``: none if words are groups.

    A word can be used in the cycle after it came, and groups follow without gaps.
    """
    scalars, words = int(result.elements), beats(operand, link)
    groups = -(-scalars // lanes)
    if words == groups and (groups == 1 or operand.shape == result.shape):
        return 0
    if operand.shape == result.shape:
        return 1 + max(0, words - groups)
    (rows, cols), latest = operand.shape, 0
    for group in range(groups):
        last = min((group + 1) * lanes, scalars) - 1
        row, col = divmod(last, int(result.cols))
        furthest = min(row, rows - 1) * cols + (
            cols - 1 if row > group * lanes // int(result.cols) else min(col, cols - 1)
        )
        word = min((furthest + 1) * operand.dtype.bits - 1, 8 * link * words - 1) // (8 * link)
        latest = max(latest, word - group)
    return 1 + latest


def rounding(application: Application) -> int:
    """Cycles to round an FP32 result to the format that is wanted."""
    assert isinstance(application.result, Tile)
    return int(application.result.dtype is BF16)
