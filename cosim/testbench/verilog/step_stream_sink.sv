`timescale 1ns / 1ps
// Takes the transfers of a stream, and compares them with FILE.hex, in the bits of FILE_mask.hex ($readmemh, one a line).
module step_stream_sink #(
    parameter BITS = 2,
    parameter TRANSFERS = 1,
    parameter FILE = ""
) (
    input wire clk,
    input wire rst,
    input wire [BITS-1:0] transfer,
    input wire valid,
    output wire ready,
    output wire finished,
    output reg [31:0] wrong
);
  reg [BITS-1:0] expected[0:TRANSFERS-1], mask[0:TRANSFERS-1];
  integer at = 0;

  assign ready = !rst;
  assign finished = at >= TRANSFERS;

  initial begin
    $readmemh({FILE, ".hex"}, expected);
    $readmemh({FILE, "_mask.hex"}, mask);
    wrong = 0;
  end

  always @(posedge clk)
    if (valid && ready) begin
      if (finished) begin
        $display("%s: transfer %0d comes after the last one: %h", FILE, at, transfer);
        wrong <= wrong + 1;
      end else if (((transfer ^ expected[at]) & mask[at]) !== 0) begin
        if (wrong == 0)
          $display("%s: transfer %0d is %h, not %h (mask %h)", FILE, at, transfer, expected[at], mask[at]);
        wrong <= wrong + 1;
      end
      at <= at + 1;
    end
endmodule
