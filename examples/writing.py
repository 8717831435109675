"""The tiny language model as a program: what it writes behind a prompt, on a fabric that is quickly built."""

from __future__ import annotations

from pathlib import Path

from step import FabricConfig, MemoryConfig, Program
from step_torch.text import TextModel

FABRIC = FabricConfig(matmul_lanes=4, vector_lanes=4, link_bytes=8, memory=MemoryConfig(beat_bytes=8))


def program(prompt: str = "every tile", tokens: int = 14) -> Program:
    """The program whose output ``tokens`` has so many symbols of ``tiny_lm/symbols.txt`` behind ``prompt``."""
    return TextModel.load(Path(__file__).parent / "tiny_lm").program(prompt, tokens, fabric=FABRIC)
