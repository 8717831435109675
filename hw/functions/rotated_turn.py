"""A memory that takes a matrix row by row and gives blocks of several rows, from banks that each row begins with in
turn."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Value

from hw.functions.corner_turn import Turn
from hw.primitives.memories import Ram
from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.parts import Parts


class RotatedTurn(Turn):
    """The right operand of a fused product: as a `hw.functions.corner_turn.CornerTurn` of its moves, in fewer banks.

    A word has scalars (``per_word``) of a matrix with ``cols`` columns, and a read wants those of ``terms`` rows and
    ``across`` columns, a *piece* of each row. There is a bank for each of the rows. If it had all pieces of its rows, a
    word would have several for one bank; so pieces are dealt to the banks from another one on for each row, or each
    word of rows. Words are rotated on their way in, and results on their way out.
    """

    def __init__(
        self, cols: int, across: int, terms: int, parts: int, scalar_bits: int, words: int, steps: int, per_word: int
    ) -> None:
        self.across, self.terms, self.parts, self.width, self.word = across, terms, parts, scalar_bits, per_word
        self.pieces = -(-cols // across)  # of a row
        self.rows = max(1, self.word // cols)  # of a word
        self.here = min(self.pieces, self.word // self.across)  # pieces of a row in a word
        reads = Parts(self.pieces * steps, self.width * self.across * self.terms)
        self._depth = self.parts << (reads.count - 1).bit_length()
        super().__init__(Parts(words, self.width * self.word), reads, self.parts)

    @classmethod
    def of(cls, plan: MatmulPlan) -> RotatedTurn:
        """The memory for the right operand of ``plan``."""
        shape, operand, parts = plan.arrangement, plan.operands[1], plan.copies[1]
        bits = operand.dtype.bits
        words = operand.words, shape.inner, operand.word_bits // bits
        return cls(shape.cols, shape.block_cols, plan.terms, parts, bits, *words)

    @staticmethod
    def fits(plan: MatmulPlan) -> bool:
        """Whether the right operand of ``plan`` can lie in one: all its extents are powers of two, but for its rows."""
        shape, operand = plan.arrangement, plan.operands[1]
        if plan.terms == 1 or plan.transposed or plan.deep_operands[1] or plan.assembled[1]:
            return False
        word, block = operand.link_bits // operand.dtype.bits, shape.block_cols
        powers = all(each.bit_count() == 1 for each in (shape.cols, block))
        return powers and shape.col_blocks > 1 and operand.words > 1 and block <= word <= block * plan.terms

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        groups = self.terms // self.rows  # of banks: rows of a word go to the banks of a group
        apart, turn, step = _split(self.write_step, self.pieces // self.here, groups)
        item = self.width * self.across
        chunks = [self.values.word_select(at, item) for at in range(self.word // self.across)]
        of_rows = (chunks[row * self.here : (row + 1) * self.here] for row in range(self.rows))
        incoming = [_rotated(each, turn[: (self.here - 1).bit_length()]) for each in of_rows]
        write_part, read_part = (self.write_part, self.read_part) if self.parts > 1 else (Cat(), Cat())
        banks: list[list[Value]] = []
        for group in range(groups):
            piece = (groups + group - turn)[: (groups - 1).bit_length()]
            low, high = piece[: (self.here - 1).bit_length()], piece[(self.here - 1).bit_length() :]
            write = self.write & (high == apart[: len(high)])
            banks.append([])
            for row in range(self.rows):
                bank = Ram(m, f"bank_{group}_{row}", item, self._depth)
                bank.write(write, Cat(low, apart, step, write_part), incoming[row][group % self.here])
                banks[-1].append(bank.read(Cat(self.read_step, read_part)))
        rotation = self.read_step[: min(self.pieces.bit_length(), groups.bit_length()) - 1]
        rows = [_rotated([bank[row] for bank in banks], rotation, back=True) for row in range(self.rows)]
        for term in range(self.terms):
            group, row = divmod(term, self.rows)
            for col in range(self.across):
                scalar = rows[row][group].word_select(col, self.width)
                m.d.comb += self.result.word_select(col * self.terms + term, self.width).eq(scalar)
        return m


def _split(number: Value, *extents: int) -> tuple[Value, ...]:
    """``number`` as digits of ``extents``, which are powers of two, the lowest one first, and what is left."""
    digits = []
    for extent in extents:
        bits = extent.bit_length() - 1
        digits.append(number[:bits])
        number = number[bits:]
    return (*digits, number)


def _rotated(values: list[Value], places: Value, *, back: bool = False) -> list[Value]:
    """Rotation of ``values``, as many as a power of two: number i at place i + ``places``; or ``back`` again."""
    for level, bit in enumerate(places):
        by = (1 << level) * (-1 if back else 1)
        values = [Mux(bit, values[(at - by) % len(values)], each) for at, each in enumerate(values)]
    return values
