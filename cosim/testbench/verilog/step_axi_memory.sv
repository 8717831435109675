`timescale 1ns / 1ps
// Memory behind AXI4 buses, for simulation. Bursts are INCR, with one ID, and answered in order: the first beat of a
// read LATENCY cycles after its address, the others one a cycle. Beyond the memory the answer is DECERR.
module step_axi_memory #(
    parameter MASTERS = 1,
    parameter BYTES = 64,
    parameter ADDRESS_BITS = 64,
    parameter [63:0] BASE = 0,
    parameter WORDS = 64,
    parameter LATENCY = 20
) (
    input wire clk,
    input wire rst,
    input wire [MASTERS*ADDRESS_BITS-1:0] araddr,
    input wire [MASTERS*8-1:0] arlen,
    input wire [MASTERS*3-1:0] arsize,
    input wire [MASTERS-1:0] arvalid,
    output reg [MASTERS-1:0] arready,
    output reg [MASTERS*8*BYTES-1:0] rdata,
    output reg [MASTERS*2-1:0] rresp,
    output reg [MASTERS-1:0] rlast,
    output reg [MASTERS-1:0] rvalid,
    input wire [MASTERS-1:0] rready,
    input wire [MASTERS*ADDRESS_BITS-1:0] awaddr,
    input wire [MASTERS*3-1:0] awsize,
    input wire [MASTERS-1:0] awvalid,
    output reg [MASTERS-1:0] awready,
    input wire [MASTERS*8*BYTES-1:0] wdata,
    input wire [MASTERS*BYTES-1:0] wstrb,
    input wire [MASTERS-1:0] wlast,
    input wire [MASTERS-1:0] wvalid,
    output reg [MASTERS-1:0] wready,
    output reg [MASTERS*2-1:0] bresp,
    output reg [MASTERS-1:0] bvalid,
    input wire [MASTERS-1:0] bready
);
  localparam DEPTH = 16;  // bursts of a master that wait for data

  reg [8*BYTES-1:0] words[0:WORDS-1];

  reg [63:0] now;
  reg [63:0] read_address[0:MASTERS*DEPTH-1];
  reg [63:0] read_due[0:MASTERS*DEPTH-1];
  reg [7:0] read_left[0:MASTERS*DEPTH-1];
  reg [2:0] read_size[0:MASTERS*DEPTH-1];
  reg [63:0] write_address[0:MASTERS-1];
  reg [2:0] write_size[0:MASTERS-1];
  integer read_first[0:MASTERS-1];
  integer read_count[0:MASTERS-1];
  reg [MASTERS-1:0] writing, failed;
  integer m, lane, at;
  reg [63:0] place;

  always @(posedge clk) begin
    now = now + 1;
    if (rst) begin
      now = 0;
      arready <= 0;
      rvalid <= 0;
      awready <= 0;
      wready <= 0;
      bvalid <= 0;
      writing = 0;
      failed = 0;
      for (m = 0; m < MASTERS; m = m + 1) begin
        read_first[m] = 0;
        read_count[m] = 0;
      end
    end else begin
      for (m = 0; m < MASTERS; m = m + 1) begin
        if (arvalid[m] && arready[m]) begin
          at = m * DEPTH + (read_first[m] + read_count[m]) % DEPTH;
          read_address[at] = araddr[m*ADDRESS_BITS+:ADDRESS_BITS];
          read_left[at] = arlen[m*8+:8];
          read_size[at] = arsize[m*3+:3];
          read_due[at] = now + LATENCY;
          read_count[m] = read_count[m] + 1;
        end
        arready[m] <= read_count[m] < DEPTH;

        if (!rvalid[m] || rready[m]) begin
          at = m * DEPTH + read_first[m];
          rvalid[m] <= 0;
          if (read_count[m] != 0 && now >= read_due[at]) begin
            place = (read_address[at] - BASE) / BYTES;
            rvalid[m] <= 1;
            rlast[m] <= read_left[at] == 0;
            rresp[m*2+:2] <= place < WORDS ? 2'b00 : 2'b11;
            rdata[m*8*BYTES+:8*BYTES] <= place < WORDS ? words[place[31:0]] : 0;
            read_address[at] = read_address[at] + (64'd1 << read_size[at]);
            if (read_left[at] == 0) begin
              read_first[m] = (read_first[m] + 1) % DEPTH;
              read_count[m] = read_count[m] - 1;
            end
            read_left[at] = read_left[at] - 1;
          end
        end

        if (bvalid[m] && bready[m]) bvalid[m] <= 0;
        if (awvalid[m] && awready[m]) begin
          write_address[m] = awaddr[m*ADDRESS_BITS+:ADDRESS_BITS];
          write_size[m] = awsize[m*3+:3];
          writing[m] = 1;
        end
        if (wvalid[m] && wready[m]) begin
          place = (write_address[m] - BASE) / BYTES;
          if (place < WORDS) begin
            for (lane = 0; lane < BYTES; lane = lane + 1)
              if (wstrb[m*BYTES+lane]) words[place[31:0]][8*lane+:8] = wdata[(m*BYTES+lane)*8+:8];
          end else failed[m] = 1;
          write_address[m] = write_address[m] + (64'd1 << write_size[m]);
          if (wlast[m]) begin
            writing[m] = 0;
            bvalid[m] <= 1;
            bresp[m*2+:2] <= failed[m] ? 2'b11 : 2'b00;
            failed[m] = 0;
          end
        end
        awready[m] <= !writing[m] && !(awvalid[m] && awready[m]) && !bvalid[m];
        wready[m] <= writing[m];
      end
    end
  end
endmodule
