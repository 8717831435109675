module bench;
  reg [1:0] a = 2'h2;
  reg c = 0;
  wire [1:0] y;
  crossed dut (.a(a), .c(c), .y(y));
  initial begin
    #1 c = 1;
    #1 c = 0;
    #1 $display("%b %b %b", y, dut.z, dut.w);
    $finish;
  end
endmodule
