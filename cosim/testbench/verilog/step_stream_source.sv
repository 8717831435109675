`timescale 1ns / 1ps
// Plays the transfers of FILE.hex ($readmemh, one a line) into a stream, one in every cycle in which it is ready.
module step_stream_source #(
    parameter BITS = 2,
    parameter TRANSFERS = 1,
    parameter FILE = ""
) (
    input wire clk,
    input wire rst,
    output wire [BITS-1:0] transfer,
    output wire valid,
    input wire ready
);
  reg [BITS-1:0] transfers[0:TRANSFERS-1];
  integer at = 0;

  assign valid = !rst && at < TRANSFERS;
  assign transfer = at < TRANSFERS ? transfers[at] : {BITS{1'b0}};

  initial $readmemh({FILE, ".hex"}, transfers);

  always @(posedge clk) if (valid && ready) at <= at + 1;
endmodule
