"""Exports, for editors and type checkers. Written by ``python -m step.cli.stubs``; do not edit."""

from step.functions.cache import CacheEnd as CacheEnd
from step.functions.cache import CacheRows as CacheRows
from step.functions.cache import CacheTiles as CacheTiles
from step.functions.cache import ExpertTiles as ExpertTiles
from step.functions.counting import CountFrom as CountFrom
from step.functions.edit import AppendRow as AppendRow
from step.functions.edit import FilterLastTile as FilterLastTile
from step.functions.edit import SetRow as SetRow
from step.functions.elementwise import Add as Add
from step.functions.elementwise import Cast as Cast
from step.functions.elementwise import Mul as Mul
from step.functions.matmul import Matmul as Matmul
from step.functions.retile import RetileCol as RetileCol
from step.functions.retile import RetileRow as RetileRow
from step.functions.retile import RetileStreamify as RetileStreamify
from step.functions.row import RowMax as RowMax
from step.functions.row import RowSum as RowSum
from step.functions.select import SelectAll as SelectAll
from step.functions.select import SelectValid as SelectValid
from step.functions.select import TopK as TopK
from step.functions.silu import Silu as Silu
from step.functions.transpose import Transpose as Transpose
