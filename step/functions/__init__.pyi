"""Exports, for editors and type checkers. Written by ``python -m step.cli.stubs``; do not edit."""

from step.functions.counting import CountFrom as CountFrom
from step.functions.elementwise import Add as Add
from step.functions.elementwise import Cast as Cast
from step.functions.elementwise import Mul as Mul
from step.functions.matmul import Matmul as Matmul
from step.functions.retile import RetileCol as RetileCol
from step.functions.retile import RetileRow as RetileRow
from step.functions.retile import RetileStreamify as RetileStreamify
from step.functions.select import SelectAll as SelectAll
from step.functions.select import SelectValid as SelectValid
from step.functions.silu import Silu as Silu
