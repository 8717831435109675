`timescale 1ns / 1ps
// Memory with a port for each load and store: each moves a beat a cycle, and a beat that is read is there LATENCY
// cycles after it was asked for. The words are beats.
module step_port_memory #(
    parameter READS = 1,
    parameter WRITES = 1,
    parameter BYTES = 64,
    parameter WORDS = 64,
    parameter [32*READS-1:0] REQUEST_BEATS = 0,  // that a request of each read port stands for
    parameter LATENCY = 20
) (
    input wire clk,
    input wire rst,
    input wire [32*READS-1:0] request,
    input wire [READS-1:0] request_valid,
    output reg [READS-1:0] request_ready,
    output reg [8*BYTES*READS-1:0] response,
    output reg [READS-1:0] response_valid,
    input wire [(8*BYTES+32)*WRITES-1:0] write,
    input wire [WRITES-1:0] write_valid,
    output wire [WRITES-1:0] write_ready,
    output reg [WRITES-1:0] written
);
  localparam BITS = 8 * BYTES, DEPTH = 16;  // requests of a port that wait

  reg [BITS-1:0] words[0:WORDS-1];
  reg [31:0] asked[0:READS*DEPTH-1];
  reg [BITS-1:0] data[0:READS*LATENCY-1];
  reg [LATENCY-1:0] due[0:READS-1];
  reg [31:0] beat[0:READS-1];
  integer first[0:READS-1];
  integer count[0:READS-1];
  integer now, port, slot;
  reg [31:0] place;

  assign write_ready = {WRITES{1'b1}};

  always @(posedge clk)
    if (rst) begin
      now = 0;
      request_ready <= 0;
      response_valid <= 0;
      written <= 0;
      for (port = 0; port < READS; port = port + 1) begin
        first[port] = 0;
        count[port] = 0;
        beat[port] = 0;
        due[port] = 0;
      end
    end else begin
      now = (now + 1) % LATENCY;
      for (port = 0; port < READS; port = port + 1) begin
        slot = port * LATENCY + now;
        response[port*BITS+:BITS] <= data[slot];
        response_valid[port] <= due[port][now];
        due[port][now] = count[port] != 0;
        if (count[port] != 0) begin
          place = asked[port*DEPTH+first[port]] + beat[port];
          data[slot] = place < WORDS ? words[place] : {BITS{1'bx}};
          beat[port] = beat[port] + 1;
          if (beat[port] == REQUEST_BEATS[32*port+:32]) begin
            beat[port] = 0;
            first[port] = (first[port] + 1) % DEPTH;
            count[port] = count[port] - 1;
          end
        end
        if (request_valid[port] && request_ready[port]) begin
          asked[port*DEPTH+(first[port]+count[port])%DEPTH] = request[32*port+:32];
          count[port] = count[port] + 1;
        end
        request_ready[port] <= count[port] < DEPTH;
      end
      written <= write_valid;
      for (port = 0; port < WRITES; port = port + 1)
        if (write_valid[port]) begin
          place = write[port*(BITS+32)+:32];
          if (place < WORDS) words[place] = write[port*(BITS+32)+32+:BITS];
          else $display("a store writes beat %0d of %0d", place, WORDS);
        end
    end
endmodule
