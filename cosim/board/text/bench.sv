`timescale 1ns / 1ps
// The board ${top} with memory: runs its program ${runs} times, and compares what it left there.
module ${name}_bench;
  localparam WORDS = ${words}, BITS = ${bits};
  reg clk = 0, rst = 1;
  always #5 clk = ~clk;
{% if bus_half %}
  reg bus_clk = 0;
  wire bus_rst = rst;
  always #${"%.3f" % bus_half} bus_clk = ~bus_clk;
{% endif %}

{% for port, name in own.items() %}
{% set way, width = ports[port] %}
{% set start = " = 1" if name in always else " = 0" %}
  ${"reg" if way == "input" else "wire"} [${width - 1}:0] ${name}${start if way == "input"};
{% endfor %}
${memory}
  ${top} board (
{% filter commas %}
{% for name in ports %}
    .${name}(${nets[name]})
{% endfor %}
{% endfilter %}
  );

{% for name, address in registers.items() %}
  localparam [31:0] ${name|upper} = 'h${"%x" % address};
{% endfor %}

  reg [BITS-1:0] expected[0:WORDS-1], mask[0:WORDS-1];
  reg [31:0] value;
  integer run, at, wrong, waited;
  reg done;
  reg [1:0] taken;

  // Inputs change behind the edge of the clock. Nonblocking assignments would not do: Verilator makes those of an
  // initial block blocking (its warning INITIALDLY), so they would come before the edge that they belong to.
  task write(input [31:0] address, input [31:0] data);
    begin
      #1;
      s_axil_awaddr = address[$bits(s_axil_awaddr)-1:0];
      s_axil_awvalid = 1;
      s_axil_wdata = data;
      s_axil_wstrb = 4'hf;
      s_axil_wvalid = 1;
      done = 0;
      while (done == 0) begin
        @(posedge clk);
        taken = {s_axil_awready, s_axil_wready};
        done = s_axil_bvalid;
        #1;
        if (taken[1]) s_axil_awvalid = 0;
        if (taken[0]) s_axil_wvalid = 0;
      end
    end
  endtask

  task read(input [31:0] address);
    begin
      #1;
      s_axil_araddr = address[$bits(s_axil_araddr)-1:0];
      s_axil_arvalid = 1;
      done = 0;
      while (done == 0) begin
        @(posedge clk);
        taken = s_axil_arready;
        done = s_axil_rvalid;
        value = s_axil_rdata;
        #1;
        if (taken[0]) s_axil_arvalid = 0;
      end
    end
  endtask

  initial begin
    $readmemh("expected.hex", expected);
    $readmemh("mask.hex", mask);
    repeat (8) @(posedge clk);
    #1 rst = 0;
    repeat (4) @(posedge clk);
    write(INTERRUPT_ENABLE, 32'h7);
{% for address, value in settings %}
    write(32'h${"%x" % address}, 32'h${"%x" % value});
{% endfor %}
    write(WATCHDOG, 32'd${cycles});
    for (run = 0; run < ${runs}; run = run + 1) begin
      $readmemh("memory.hex", memory.words);
      write(CONTROL, 32'h1);
      waited = 0;
      while (!interrupt) begin
        @(posedge clk);
        waited = waited + 1;
        if (waited > 2000000000) begin
          $display("FAILED: ${top} does not end run %0d", run);
          $fatal(1);
        end
      end
      read(INTERRUPT);
      write(INTERRUPT, value);
      read(FAULT);
      if (value != 0) begin
        $display("FAILED: run %0d met fault %0d of unit %0d", run, value[3:0], value[27:16]);
        $fatal(1);
      end
      wrong = 0;
      for (at = 0; at < WORDS; at = at + 1)
        if (((memory.words[at] ^ expected[at]) & mask[at]) !== 0) begin
          if (wrong == 0)
            $display("word %0d of memory is %h, not %h (mask %h)", at, memory.words[at], expected[at], mask[at]);
          wrong = wrong + 1;
        end
      if (wrong != 0) begin
        $display("FAILED: run %0d left %0d wrong words in memory", run, wrong);${hint}
        $fatal(1);
      end
      read(CYCLES_LOW);
      $display("run %0d: ok, %0d cycles", run, value);
    end
    $display("PASSED");
    $finish;
  end
endmodule
