module crossed(a, c, y);
  input [1:0] a;
  wire [1:0] a;
  input c;
  wire c;
  output [1:0] y;
  reg [1:0] y;
  reg [1:0] x;
  reg [1:0] x_value;
  reg [2:0] w;
  reg [3:0] z;
  reg n_next;
  always_comb begin
    x = { y[0], a[0] };
    if (c) begin
      x = { y[0], 1'h1 };
    end
  end
  always_comb begin
    y = { a[1], x[0] };
    if (c) begin
      y[1] = 1'h0;
    end
  end
  always_comb begin
    n_next = 1'h0;
    if (c) begin
      n_next = 1'h1;
    end
  end
  always_comb begin
    z[1:0] = 2'h0;
    if (c) begin
      z[1:0] = a;
    end
  end
  always_comb
    z[3:2] = 2'h1;
  always_comb begin
    w[0] = c;
    w[2:1] = a;
    if (c) begin
      w[1] = 1'h0;
    end
  end
  assign x_value = x;
endmodule