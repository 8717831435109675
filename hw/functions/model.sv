// Simulation only: computes with C++ when all words are there; each result then waits for its time.
module step_matmul_model #(
  parameter ROWS = 1,
  parameter INNER = 1,
  parameter COLS = 1,
  parameter TRANSPOSED = 0,
  parameter TERMS = 1,
  parameter REDUCE = 0,
  parameter LEFT_BITS = 16,
  parameter RIGHT_BITS = 16,
  parameter RESULT_BITS = 32,
  parameter LEFT_WORDS = 1,
  parameter RIGHT_WORDS = 1,
  parameter RESULT_WORDS = 1,
  parameter SCALAR_BITS = 32,
  parameter WORDS = 1,
  parameter SLOTS = 2,
  parameter WAIT = 1
) (
  input clk,
  input rst,
  input start,
  input first,
  input emit,
  input [LEFT_BITS-1:0] operand0,
  input [RIGHT_BITS-1:0] operand1,
  output reg [RESULT_BITS-1:0] result
);
  import "DPI-C" function void step_matmul(input int rows, input int inner, input int cols, input int transposed,
    input int terms, input int keep, input int width, input bit [31:0] first[], input bit [31:0] second[],
    inout bit [31:0] result[]);

  localparam LEFT = (LEFT_BITS * LEFT_WORDS + 31) / 32, RIGHT = (RIGHT_BITS * RIGHT_WORDS + 31) / 32;
  localparam RESULT = (RESULT_BITS * RESULT_WORDS + 31) / 32;
  bit [31:0] left_words [LEFT], right_words [RIGHT], result_words [RESULT];
  reg [32*LEFT-1:0] left_whole;
  reg [32*RIGHT-1:0] right_whole;
  reg [32*RESULT-1:0] computed [SLOTS];
  reg [31:0] due [SLOTS];
  reg [31:0] now, next, oldest, leaving, left, word;
  reg held_first, held_emit, push, first_now, emit_now;
  // verilator lint_off BLKSEQ
  always @(posedge clk) begin
    now <= rst ? 0 : now + 1;
    push = 0;
    if (rst) begin
      next = 0;
      oldest <= 0;
      left <= 0;
      word = 0;
    end else if (start || word != 0) begin
      first_now = start ? first : held_first;
      emit_now = start ? emit : held_emit;
      if (word < LEFT_WORDS) left_whole[word*LEFT_BITS +: LEFT_BITS] = operand0;
      if (word < RIGHT_WORDS) right_whole[word*RIGHT_BITS +: RIGHT_BITS] = operand1;
      word = word + 1;
      if (word == WORDS) begin
        word = 0;
        for (int i = 0; i < LEFT; i++) left_words[i] = left_whole[32*i +: 32];
        for (int i = 0; i < RIGHT; i++) right_words[i] = right_whole[32*i +: 32];
        step_matmul(ROWS, INNER, COLS, TRANSPOSED, TERMS, 32'(!first_now), SCALAR_BITS, left_words, right_words,
          result_words);
        push = emit_now;
      end
      held_first <= first_now;
      held_emit <= emit_now;
    end
    if (push) begin
      for (int i = 0; i < RESULT; i++) computed[next % SLOTS][32*i +: 32] = result_words[i];
      due[next % SLOTS] = now + WAIT - WORDS + 1;
      next = next + 1;
    end
    if (!rst && emit && !start && REDUCE != 0) begin
      for (int i = 0; i < RESULT; i++) computed[next % SLOTS][32*i +: 32] = first ? 0 : result_words[i];
      due[next % SLOTS] = now + WAIT;
      next = next + 1;
    end
    if (!rst && oldest != next && due[oldest % SLOTS] == now) begin
      result <= computed[oldest % SLOTS][0 +: RESULT_BITS];
      leaving <= oldest % SLOTS;
      left <= 1;
      oldest <= oldest + 1;
    end else if (left != 0 && left != RESULT_WORDS) begin
      result <= computed[leaving][left*RESULT_BITS +: RESULT_BITS];
      left <= left + 1;
    end
  end
  // verilator lint_on BLKSEQ
endmodule
