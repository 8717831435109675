// Takes every transfer of a stream, and records them in one file.
//
// The file `sink.NAME` in +directory gets each transfer up to Done in whole 32-bit words, lowest word and lowest byte first.
// With +prompt a transfer is in the file as soon as it was taken.
module sim_sink #(
    parameter string NAME = "",
    parameter int BITS = 2
) (
    input  logic            clk,
    input  logic            rst,
    input  logic            running,  // this cycle is part of the run
    input  logic [BITS-1:0] transfer,
    input  logic            valid,
    output logic            ready
);
    localparam int WORDS = (BITS + 31) / 32;

    int file;
    logic [32*WORDS-1:0] words;
    logic finished;  // Done was taken
    logic prompt;

    assign ready = 1'b1;
    assign words = (32 * WORDS)'(transfer);

    initial begin
        string directory;
        void'($value$plusargs("directory=%s", directory));
        file = $fopen({directory, "/sink.", NAME}, "wb");
        prompt = $test$plusargs("prompt") != 0;
        if (file == 0) $fatal(1, "sink %s can not be recorded", NAME);
        finished = 1'b0;
    end

    always @(posedge clk)
        if (!rst && running && valid && !finished) begin
            $fwrite(file, "%u", words);
            if (prompt) $fflush(file);
            finished <= finished | transfer[0];
        end

    final $fclose(file);
endmodule
