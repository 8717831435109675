"""Parts of programs that are made of several operators."""

from step.library import arithmetic as arithmetic
from step.library import merging as merging
from step.library import tiles as tiles
from step.library.arg_max import arg_max
from step.library.draw import draw
from step.library.indices import indices_of, selector_of
from step.library.parallel import parallelize
from step.library.quantized import quantize_rows, quantized_matmul
from step.library.softmax import softmax
from step.library.top_k import top_k_weights

__all__ = [
    "arg_max",
    "draw",
    "indices_of",
    "parallelize",
    "quantize_rows",
    "quantized_matmul",
    "selector_of",
    "softmax",
    "top_k_weights",
]
