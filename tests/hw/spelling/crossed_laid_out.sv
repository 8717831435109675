  always_comb begin
    reg [1:0] x_value_;
    x_value_ = { y[0], a[0] };
    if (c) begin
      x_value_ = { y[0], 1'h1 };
    end
    x = x_value_;
  end
  always_comb begin
    reg [1:0] y_value;
    y_value = { a[1], x[0] };
    if (c) begin
      y_value[1] = 1'h0;
    end
    y = y_value;
  end
  always_comb begin
    n_next = 1'h0;
    if (c) begin
      n_next = 1'h1;
    end
  end
  always_comb begin
    reg [3:0] z_value;
    z_value[3:2] = 2'h1;
    z_value[1:0] = 2'h0;
    if (c) begin
      z_value[1:0] = a;
    end
    z = z_value;
  end
  always_comb begin
    reg [2:0] w_value;
    w_value[0] = c;
    w_value[2:1] = a;
    if (c) begin
      w_value[1] = 1'h0;
    end
    w = w_value;
  end
  assign x_value = x;
endmodule