"""Exports, for editors and type checkers. Written by ``python -m step.cli.stubs``; do not edit."""

from step.functions.cast import Cast as Cast
from step.functions.compare import Compare as Compare
from step.functions.compare import Where as Where
from step.functions.elementwise import Add as Add
from step.functions.elementwise import Max as Max
from step.functions.elementwise import Min as Min
from step.functions.elementwise import Mul as Mul
from step.functions.elementwise import MulAdd as MulAdd
from step.functions.elementwise import Scale as Scale
from step.functions.elementwise import Sub as Sub
from step.functions.exp import Exp as Exp
from step.functions.gelu import Gelu as Gelu
from step.functions.matmul import Matmul as Matmul
from step.functions.reciprocal import Div as Div
from step.functions.reciprocal import Reciprocal as Reciprocal
from step.functions.retile import RetileCol as RetileCol
from step.functions.retile import RetileRow as RetileRow
from step.functions.retile import RetileStreamify as RetileStreamify
from step.functions.rsqrt import Rsqrt as Rsqrt
from step.functions.select import SelectAll as SelectAll
from step.functions.select import SelectValid as SelectValid
from step.functions.silu import Silu as Silu
