// Looks on at an AXI4 bus, and keeps the number of the first rule that is broken; the rules are those of the
// standard (IHI 0022), and what docs/board.md promises. `owed`: bursts without an answer; `seen`: those with one.

// One channel: VALID stays until READY, with the same payload; all is known (in four-state simulation).
module axi_channel_checker #(parameter BITS = 1) (
  input wire clk,
  input wire rst,
  input wire valid,
  input wire ready,
  input wire [BITS-1:0] payload,
  output wire waited,
  output wire dropped,
  output wire changed,
  output wire unknown
);
  reg waits = 1'b0, started = 1'b0;
  reg [BITS-1:0] previous;
  assign waited = waits & ~rst;
  assign dropped = waited & ~valid;
  assign changed = waited & (payload !== previous);
  assign unknown = started & ~rst & ((^{valid, ready} === 1'bx) | (valid & (^payload === 1'bx)));
  always @(posedge clk) begin
    started <= started | rst;
    waits <= ~rst & valid & ~ready;
    previous <= payload;
  end
endmodule

module axi_checker #(
  parameter ADDRESS = 64,
  parameter BYTES = 64,
  parameter BURST = 16,
  parameter OUTSTANDING = 8
) (
  input wire clk,
  input wire rst,
  input wire awid, arid, bid, rid,
  input wire [ADDRESS-1:0] awaddr, araddr,
  input wire [7:0] awlen, arlen,
  input wire [2:0] awsize, arsize,
  input wire [1:0] awburst, arburst,
  input wire awlock, arlock,
  input wire [3:0] awcache, arcache,
  input wire [2:0] awprot, arprot,
  input wire [3:0] awqos, arqos,
  input wire awvalid, awready, arvalid, arready,
  input wire [8*BYTES-1:0] wdata,
  input wire [BYTES-1:0] wstrb,
  input wire wlast, wvalid, wready,
  input wire [1:0] bresp,
  input wire bvalid, bready,
  input wire [8*BYTES-1:0] rdata,
  input wire [1:0] rresp,
  input wire rlast, rvalid, rready,
  output reg [7:0] broken,
  output reg [7:0] owed,
  output reg [31:0] seen
);
  localparam DROPPED = 1, CHANGED = 2, UNKNOWN = 3, IN_RESET = 4, PAGE = 5, KIND = 6, LAST = 7, TOO_EARLY = 8,
    STROBES = 9, TOO_MANY = 10, UNASKED = 11, WRONG_ID = 12;
  localparam OFFER = ADDRESS + 26;

  wire [8*BYTES-1:0] written;  // bytes that are not enabled may be anything
  genvar at;
  generate
    for (at = 0; at < BYTES; at = at + 1) assign written[8*at +: 8] = wdata[8*at +: 8] & {8{wstrb[at]}};
  endgenerate

  wire [4:0] waited, dropped, changed, unknown;
  axi_channel_checker #(OFFER) aw (clk, rst, awvalid, awready,
    {awid, awaddr, awlen, awsize, awburst, awlock, awcache, awprot, awqos},
    waited[0], dropped[0], changed[0], unknown[0]);
  axi_channel_checker #(OFFER) ar (clk, rst, arvalid, arready,
    {arid, araddr, arlen, arsize, arburst, arlock, arcache, arprot, arqos},
    waited[1], dropped[1], changed[1], unknown[1]);
  axi_channel_checker #(9*BYTES+1) w (clk, rst, wvalid, wready, {written, wstrb, wlast},
    waited[2], dropped[2], changed[2], unknown[2]);
  axi_channel_checker #(3) b (clk, rst, bvalid, bready, {bid, bresp}, waited[3], dropped[3], changed[3], unknown[3]);
  axi_channel_checker #(8*BYTES+4) r (clk, rst, rvalid, rready, {rid, rdata, rresp, rlast},
    waited[4], dropped[4], changed[4], unknown[4]);

  // Bursts in the order of their addresses. Counters go round; a bus has far fewer than 64 under way.
  reg [ADDRESS-1:0] write_address [0:63];
  reg [7:0] write_length [0:63], read_length [0:63];
  reg [2:0] write_size [0:63];
  reg write_id [0:63], read_id [0:63];
  reg [5:0] offered, taken, whole, answered;  // writes: address shown, address taken, data whole, answered
  reg [5:0] asked, got;  // reads: address taken, last data taken
  reg [7:0] write_beat, read_beat;
  reg was_reset = 1'b0;
  reg [ADDRESS-1:0] place;
  reg [BYTES-1:0] lanes;
  reg [5:0] under_way;

  task rule(input bad, input [7:0] number);
    if (bad !== 1'b0 && broken == 0) broken = number;
  endtask

  task address(input id, input [ADDRESS-1:0] first, input [7:0] length, input [2:0] size, input [1:0] burst);
    begin
      rule(burst != 2'b01 || (8'd1 << size) > BYTES || length >= BURST || (first & ((1 << size) - 1)) != 0, KIND);
      rule({4'd0, first[11:0]} + (({8'd0, length} + 16'd1) << size) > 16'd4096, PAGE);
      rule(id, WRONG_ID);
    end
  endtask

  always @(posedge clk) begin
    was_reset <= rst;
    if (rst !== 1'b0) begin
      if (!was_reset) broken = 0;
      rule(was_reset && (awvalid || arvalid || wvalid), IN_RESET);
      {offered, taken, whole, answered, asked, got, write_beat, read_beat} = 0;
      owed = 0;
      seen = 0;
    end else begin
      rule(|dropped, DROPPED);
      rule(|changed, CHANGED);
      rule(|unknown, UNKNOWN);
      // Answers are to what was taken in earlier cycles.
      if (bvalid) begin
        rule(answered == taken || answered == whole, UNASKED);
        rule(bid != write_id[answered], WRONG_ID);
      end
      if (rvalid) begin
        rule(got == asked, UNASKED);
        rule(rid != read_id[got], WRONG_ID);
        rule(rlast != (read_beat == read_length[got]), LAST);
      end
      if (bvalid && bready) begin
        answered = answered + 1;
        seen = seen + 1;
      end
      if (rvalid && rready) begin
        read_beat = rlast ? 0 : read_beat + 1;
        if (rlast) begin
          got = got + 1;
          seen = seen + 1;
        end
      end
      if (awvalid) begin
        address(awid, awaddr, awlen, awsize, awburst);
        if (!waited[0]) begin
          write_address[offered] = awaddr;
          write_length[offered] = awlen;
          write_size[offered] = awsize;
          write_id[offered] = awid;
          offered = offered + 1;
        end
        if (awready) taken = taken + 1;
      end
      if (arvalid) begin
        address(arid, araddr, arlen, arsize, arburst);
        if (arready) begin
          read_length[asked] = arlen;
          read_id[asked] = arid;
          asked = asked + 1;
        end
      end
      if (wvalid) begin
        rule(whole == offered, TOO_EARLY);
        rule(wlast != (write_beat == write_length[whole]), LAST);
        place = write_address[whole] + ({{(ADDRESS-8){1'b0}}, write_beat} << write_size[whole]);
        lanes = ~({BYTES{1'b1}} << (8'd1 << write_size[whole])) << (place & (BYTES - 1));
        rule((wstrb & ~lanes) != 0, STROBES);
        if (wready) begin
          write_beat = wlast ? 0 : write_beat + 1;
          if (wlast) whole = whole + 1;
        end
      end
      under_way = taken - answered;
      owed = {2'd0, under_way};
      rule(under_way > OUTSTANDING, TOO_MANY);
      under_way = asked - got;
      owed = owed + {2'd0, under_way};
      rule(under_way > OUTSTANDING, TOO_MANY);
    end
  end
endmodule
