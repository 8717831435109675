// Sample: Names that differ by a number only, parts of signals, a keyword, no bits, a register, a full choice,
//   memories.
//   slots: 2
//   entry: 8 bits
module sample_slots2_entry8 (
  input wire clk,
  input wire rst,
  output reg [7:0] b,
  input wire [7:0] a
);
  wire [7:0] _signature__data_17;
  reg _signature__en;
  reg _signature__en_next;
  reg [7:0] b_next;
  wire before_;
  wire [1:0] entry__addr;
  reg [7:0] entry__data;
  wire entry__en;
  wire [8:0] sum;
  reg [7:0] table_entry;
  wire [7:0] token;
  wire [8:0] token_data;
  reg [7:0] slots [1:0];
  always_ff @(posedge clk) begin
    if (_signature__en)
      slots[a[0]] <= sum[7:0];
  end
  assign _signature__data_17 = slots[a[0]];
  assign sum = a + 1'h1;
  always_ff @(posedge clk)
    entry__data <= table_entry;
  always_ff @(posedge clk)
    _signature__en <= _signature__en_next;
  always_ff @(posedge clk)
    b <= b_next;
  always_comb begin
    casez (a[1:0])
      2'h0:
          table_entry = 8'h0;
      2'h1:
          table_entry = 8'ha;
      default:
          table_entry = 8'h7;
    endcase
  end
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
