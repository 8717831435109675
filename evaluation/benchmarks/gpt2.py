"""Cycles a token of a language model as large as GPT-2, in the fast model, from mapping to mapping.

    python -m benchmarks.gpt2 [--model FILE.pt2] [--tokens 8] [--values] [--explain]

The model has 12 Llama layers of 768, one head of keys, inner 2048, and bytes for a vocabulary: 72 million parameters,
random ones. Torch and transformers make it once, in 40 s, where FILE (113 MB, by default in the temporary folder) is
missing. To read its weights once at 1,024 bytes a cycle takes 141,312 cycles.

``--values`` computes all values, so that each token decides the next one; without, control alone runs, which takes
seconds. ``--explain`` says which operators are the busiest.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from sim_approx import backend as approx
from sim_approx.running.model_run import Values
from step import FabricConfig
from step.running.result import RunResult
from step_models.fabrics import PUBLISHED, WIDE
from step_torch import Tiling
from step_torch.generating import LanguageModel

SHAPE = {
    "vocab_size": 256, "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12,
    "num_attention_heads": 12, "num_key_value_heads": 1, "head_dim": 64, "max_position_embeddings": 64,
    "tie_word_embeddings": False,
}  # fmt: skip
BYTES_A_CYCLE = 1024

MAPPINGS: dict[str, tuple[Tiling, FabricConfig]] = {
    "ports of 64 bytes": (Tiling(columns=64), PUBLISHED),
    "ports of 1,024 bytes": (Tiling(columns=64), WIDE),
    "tiles of 256 columns": (Tiling(columns=256), WIDE),
    "all columns, in steps of the depth": (Tiling(columns=2048, depth=64), WIDE),
    "the same, additions in one cycle": (Tiling(columns=2048, depth=64), replace(WIDE, stages=1)),
    "tiles of 64 columns, fused sums": (Tiling(columns=64, sum="fused"), WIDE),
    "steps of the depth, fused sums": (Tiling(columns=2048, depth=64, sum="fused"), WIDE),
    "16 products side by side, ports of 64 bytes": (Tiling(columns=2048, depth=64, side_by_side=16), PUBLISHED),
    "the same, fused sums": (Tiling(columns=2048, depth=64, side_by_side=16, sum="fused"), PUBLISHED),
}


def make(path: Path) -> None:
    """Capture the model, by torch and transformers."""
    import torch
    import transformers

    import step_torch

    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE)).to(torch.bfloat16).eval()
    with torch.no_grad():
        for each in model.parameters():
            random = torch.randn_like(each)
            each.copy_(1 + random / 4 if each.ndim == 1 else random / each.shape[-1] ** 0.5)
    step_torch.capture_decoding(model, path, room=SHAPE["max_position_embeddings"])


def measure(
    model: LanguageModel, tiling: Tiling, fabric: FabricConfig, tokens: int, *, values: bool
) -> tuple[RunResult, float, float]:
    """A run, and the seconds of the processor that the program and the run took."""
    started = time.process_time()
    program = model.program([1], tokens, tiling=tiling, fabric=fabric, values=values)
    made = time.process_time()
    kept: Values = "all" if values else "control"
    result = approx.run(program.graph, program.inputs, program.fabric, values=kept, engine="compiled")
    return result, made - started, time.process_time() - made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path(tempfile.gettempdir()) / "step_gpt2.pt2")
    parser.add_argument("--tokens", type=int, default=4)
    parser.add_argument("--values", action="store_true")
    parser.add_argument("--explain", action="store_true")
    given = parser.parse_args()
    if not given.model.exists():
        make(given.model)
    model = LanguageModel.load(given.model)
    matrices = [each for name, each in model.archive.weights.items() if name.endswith(("proj.weight", "head.weight"))]
    bound = sum(each.size * each.itemsize for each in matrices) / BYTES_A_CYCLE
    print(f"weights read once: {bound:,.0f} cycles a token")
    print("| mapping | cycles a token | of the bound | bandwidth used | program, s | run, s |")
    print("|---|---|---|---|---|---|")
    for name, (tiling, fabric) in MAPPINGS.items():
        result, made, ran = measure(model, tiling, fabric, given.tokens, values=given.values)
        cycles = result.cycles / given.tokens
        least = sum(each.beats for each in result.traffic.values()) * fabric.memory.beat_bytes / BYTES_A_CYCLE
        busy = f"{least / result.cycles:.0%}"
        print(f"| {name} | {cycles:,.0f} | {cycles / bound:.2f} | {busy} | {made:.1f} | {ran:.1f} |", flush=True)
        if given.explain:
            for unit, each in sorted(result.operators.items(), key=lambda item: -item[1].busy)[:8]:
                shares = (each.busy, each.starved, each.blocked)
                print("   ", unit, *(f"{share / result.cycles:.1%}" for share in shares), "busy, starved, blocked")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:,} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
