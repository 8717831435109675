"""`drive_edges`: patterns, stream rules, and the ends of a run."""

from __future__ import annotations

from designs import DONE, pass_through, payload, port, write_design
from edges import PATTERNS, drive_edges
from grids import samples
from raising import raising

from step.errors import InputError

TOKENS = [payload(value % 97) for value in range(60)] + [DONE]


@samples(backpressure=PATTERNS, idle=["none", "random", "bursty"])
def test_tokens_arrive_whatever_the_pattern(tmp_path, idle, backpressure):
    run = drive_edges(pass_through(tmp_path), sources={"a": TOKENS}, idle=idle, backpressure=backpressure, seed=3)
    assert (run.status, run.sinks, run.violations) == ("finished", {"b": TOKENS}, [])


def test_cycles_without_idle_and_backpressure(tmp_path):
    run = drive_edges(pass_through(tmp_path), sources={"a": TOKENS})
    assert run.source_cycles["a"] == list(range(61))
    assert run.sink_cycles["b"] == list(range(2, 63))
    assert run.cycles == 63


def test_same_seed_same_run(tmp_path):
    def once(seed):
        return drive_edges(pass_through(tmp_path), sources={"a": TOKENS}, backpressure="random", seed=seed)

    assert once(7) == once(7)
    assert once(7) != once(8)


def test_a_stall_and_a_fault(tmp_path):
    design = pass_through(tmp_path)
    stalled = drive_edges(design, sources={"a": [payload(1), payload(0xDEAD), DONE]}, watchdog=50)
    assert (stalled.status, stalled.sinks["b"]) == ("stalled", [payload(1)])
    faulty = drive_edges(design, sources={"a": [payload(1), payload(0xBAD), DONE]})
    assert (faulty.status, faulty.fault) == ("fault", (0, 5))
    long = drive_edges(design, sources={"a": TOKENS}, max_cycles=10)
    assert (long.status, long.cycles) == ("runaway", 10)


RULE_BREAKER = """
module fabric(
    input clk, input rst, output [7:0] b_tdata, output b_tuser, output b_tlast, output b_tvalid, input b_tready,
    output probe_finished
);
    reg [2:0] count;
    always @(posedge clk) count <= rst ? 0 : count + 1;
    assign b_tvalid = count != 3'd4;
    assign b_tdata = {count[2:1], 6'b0}, b_tlast = 1'b1, b_tuser = count == 3'd7 && b_tready;
    assign probe_finished = 1'b1;
endmodule
"""


def test_broken_stream_rules_are_told(tmp_path):
    design = write_design(tmp_path, RULE_BREAKER, sinks=[port("b", 8)])
    run = drive_edges(design, backpressure="slow", seed=1)
    assert "b: valid fell in cycle 4 before the transfer was taken" in run.violations
    assert "b: the transfer changed in cycle 6 before the transfer was taken" in run.violations


def test_inputs_are_checked(tmp_path):
    design = pass_through(tmp_path)
    with raising(InputError, "tokens must be given for the sources of the fabric (a), not for []"):
        drive_edges(design, sources={})
    with raising(InputError, "a pattern must be one of none, random, bursty, slow, patient, not 'often'"):
        drive_edges(design, sources={"a": []}, idle="often")
