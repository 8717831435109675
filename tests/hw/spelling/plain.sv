// Sample: Names that differ by a number only, parts of signals, a keyword, no bits, a register, a full choice,
//   memories.
//   slots: 2
//   entry: 8 bits
module sample_slots2_entry8 (
  input wire clk,
  input wire rst,
  output reg [7:0] b = 8'h0,
  input wire [7:0] a
);
  wire [7:0] _signature__data_17;
  reg _signature__en = 1'h1;
  reg _signature__en_next;
  reg [7:0] b_next;
  wire before_;
  wire [1:0] entry__addr;
  wire [7:0] entry__data;
  wire entry__en;
  wire [8:0] sum;
  wire [7:0] token;
  wire [8:0] token_data;
  reg [7:0] slots [1:0];
  always_ff @(posedge clk) begin
    if (_signature__en)
      slots[a[0]] <= sum[7:0];
  end
  assign _signature__data_17 = slots[a[0]];
  reg [7:0] table_ [2:0];
  initial begin
    table_[0] = 8'h0;
    table_[1] = 8'ha;
    table_[2] = 8'h7;
  end
  reg [7:0] _0_;
  always_ff @(posedge clk) begin
    _0_ <= table_[a[1:0]];
  end
  assign entry__data = _0_;
  assign sum = a + 1'h1;
  always_ff @(posedge clk)
    _signature__en <= _signature__en_next;
  always_ff @(posedge clk)
    b <= b_next;
  always_comb begin
    _signature__en_next = a[7];
    if (rst) begin
      _signature__en_next = 1'h1;
    end
  end
  always_comb begin
    casez (a[5:4])
      2'h0:
          b_next = entry__data;
      2'h1:
          b_next = 8'h7;
      2'h2, 2'h3:
          b_next = _signature__data_17;
    endcase
    if (rst) begin
      b_next = 8'h0;
    end
  end
  assign before_ = _signature__en;
  assign entry__addr = a[1:0];
  assign entry__en = 1'h1;
  assign token = a;
  assign token_data = { 5'h0, a[3:0] };
endmodule
