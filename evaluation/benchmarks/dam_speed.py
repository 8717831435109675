"""Speed of our compiled engine beside DAM, the framework that the published simulator stands on, on the same programs.

Usage: python -m benchmarks.dam_speed CHECKOUT [tokens [pairs]]

CHECKOUT is a clone of stanford-ppl/DAM-RS; cargo builds `dam_peer.rs` against it by the manifest below (release, LTO),
with what DAM depends on from crates.io and GitHub, or from what cargo's configuration names in their place. Both then
run the programs of `benchmarks.approx_speed` in turns: DAM with one worker, coroutines and its own inference of
channels, ours without jumps over firings that repeat. Two workers fire as often a second of the processor, system
threads a tenth of it. The columns are millions of firings of ours per second of the processor, as median of so many
pairs with the least and the most, and our speed over DAM's, pair by pair. DAM's seconds are those of the process less
one with a single token.

The graphs are the same, unit for unit, and cycles where nothing waits differ by at most one for each unit. A unit of
DAM holds its token while it waits for room, as one more slot of a channel: so experts take about as many cycles there
as on our fabric with three slots, not two.

`experiments/published/speed.csv` is of DAM at 8771934 as it is, may 0.3.51 and rustc 1.95. Crates that the runs never
call (bson, futures) were stubs, and enum_delegate the one match that it makes of DAM.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.approx_speed import TARGETS, anywhere, bound, chain, compute, experts, selector, timing_of
from sim_approx.backend import Model, simulate
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower

PEER = Path(__file__).with_name("dam_peer.rs")
MANIFEST = """\
[package]
name = "peer"
version = "0.1.0"
edition = "2021"

[[bin]]
name = "peer"
path = "{peer}"

[dependencies]
dam = {{ path = "{checkout}", default-features = false, features = ["coroutines"] }}

[profile.release]
lto = true
codegen-units = 1
"""
PROGRAMS = ((chain, selector), (compute, selector), (experts, selector), (experts, anywhere))


def built(checkout: Path, folder: Path) -> Path:
    """The peer, built in ``folder``; ends with a line where there is no DAM."""
    manifest = checkout / "Cargo.toml"
    if not manifest.is_file() or 'name = "dam"' not in manifest.read_text():
        sys.exit(f"error: CHECKOUT must be a clone of DAM-RS, whose Cargo.toml has the package dam, not {checkout}")
    (folder / "Cargo.toml").write_text(MANIFEST.format(peer=PEER, checkout=checkout.resolve()))
    try:
        subprocess.run(["cargo", "build", "--release", "--manifest-path", folder / "Cargo.toml"], check=True)
    except FileNotFoundError:
        sys.exit("error: cargo was not found; install Rust")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: cargo ended with {error.returncode}; what it says is above")
    return folder / "target" / "release" / "peer"


def theirs(peer: Path, name: str, count: int, routed: Path) -> tuple[float, int]:
    """Seconds of the processor that the peer takes for ``count`` tokens, and its cycles."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([peer, name, str(count), routed], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(done.stdout)


def ours(model: Model) -> tuple[float, int]:
    """The same of our engine."""
    start = time.process_time()
    cycles = model.run(jump=False).ending.cycles
    return time.process_time() - start, cycles


def targets(count: int, select: Callable[[int, int], int]) -> list[int]:
    """The expert of every token."""
    return [select(number, TARGETS).bit_length() - 1 for number in range(count)]


def spread(values: list[float]) -> str:
    """The median, with the least and the most."""
    return f"{median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def main() -> None:
    """Print a row for each program."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m benchmarks.dam_speed CHECKOUT [tokens [pairs]]")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = built(Path(sys.argv[1]), folder)
        print("| program | cycles: DAM | ours | DAM | ours | ours / DAM |\n|---|---:|---:|---:|---:|---:|", flush=True)
        for build, select in PROGRAMS:
            print(f"| {row(peer, folder / 'targets', build, select, count, pairs)} |", flush=True)


def row(
    peer: Path, routed: Path, build: Callable[[Graph], None], select: Callable[[int, int], int], count: int, pairs: int
) -> str:
    """The cells of a program."""
    graph = Graph(build.__name__)
    build(graph)
    netlist = lower(graph, FabricConfig())
    data = bound(netlist, count, select)
    firings = sum(simulate(netlist, data, timing_of=timing_of, engine="compiled").ending.firings.values())
    model = Model(netlist, data, timing_of=timing_of, engine="compiled")
    model.run(jump=False)
    routed.write_text(" ".join(map(str, targets(count, select))))
    rates: list[tuple[float, float]] = []
    for _ in range(pairs):
        begun = theirs(peer, build.__name__, 1, routed)[0]
        (other, cycles), (own, own_cycles) = theirs(peer, build.__name__, count, routed), ours(model)
        rates.append((firings / (other - begun) / 1e6, firings / own / 1e6))
    cells = [spread([each[0] for each in rates]), spread([each[1] for each in rates])]
    factor = spread([each[1] / each[0] for each in rates])
    kind = " random" if select is anywhere else ""
    return " | ".join([f"{build.__name__}{kind}", f"{cycles:,}", f"{own_cycles:,}", *cells, factor])


if __name__ == "__main__":
    main()
