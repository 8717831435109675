"""Datapaths of square roots and their reciprocals."""

from __future__ import annotations

from hw.arithmetic.rsqrt import Rsqrt as RsqrtUnit
from hw.arithmetic.rsqrt import Sqrt as SqrtUnit
from hw.functions.elementwise import on_leaves
from step.functions.rsqrt import Rsqrt, Sqrt

on_leaves({Rsqrt: RsqrtUnit, Sqrt: SqrtUnit})
