// Sample: Names that differ by a number only, parts of signals, a keyword, no bits, a register, a full choice,
//   memories.
//   slots: 2
//   entry: 8 bits
//   ports:
//     a: in [8]
//     b: out [8]
module sample_slots2_entry8 (
  input wire [7:0] a,
  input wire clk,
  input wire rst,
  output reg [7:0] b = 8'h0
);
  wire [7:0] _signature__data;
  reg _signature__en = 1'h1;
  wire [1:0] entry__addr;
  reg [7:0] entry__data;
  wire [8:0] sum;
  reg [7:0] slots [0:1];
  reg [7:0] table_ [0:2];
  initial begin
    table_[0] = 8'h0;
    table_[1] = 8'ha;
    table_[2] = 8'h7;
  end
  assign sum = a + 1'h1;
  always_ff @(posedge clk) begin
    if (_signature__en)
      slots[a[0]] <= sum[7:0];
  end
  assign _signature__data = slots[a[0]];
  assign entry__addr = a[1:0];
  always_ff @(posedge clk) begin
    entry__data <= table_[entry__addr];
  end
  always_ff @(posedge clk) begin
    _signature__en <= a[7];
    if (rst) begin
      _signature__en <= 1'h1;
    end
  end
  always_ff @(posedge clk) begin
    case (a[5:4])
      2'h0:
        b <= entry__data;
      2'h1:
        b <= 8'h7;
      2'h2, 2'h3:
        b <= _signature__data;
      default: ;
    endcase
    if (rst) begin
      b <= 8'h0;
    end
  end
endmodule
