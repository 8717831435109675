// Plays the transfers of one file into a stream: one per cycle in which the stream is ready.
//
// The file `source.NAME` in +directory holds the transfers, each in BYTES bytes, highest byte first (the order of
// $fread). It is read while the simulation runs, so a stream may be of any length. The first one is offered in
// the first cycle after reset.
module sim_source #(
    parameter string NAME = "",
    parameter int BITS = 2
) (
    input  logic            clk,
    input  logic            rst,
    output logic [BITS-1:0] transfer,
    output logic            valid,
    input  logic            ready
);
    localparam int BYTES = (BITS + 7) / 8;

    int file;

    // Reads the next token into `token`; `found` is 0 at the end of the file. A file has whole bytes, so the highest
    // bits may be padding.
    /* verilator lint_off UNUSEDSIGNAL */
    task automatic read(output logic [BITS-1:0] token, output logic found);
        logic [8*BYTES-1:0] bytes;
        int count = $fread(bytes, file);
        if (count != 0 && count != BYTES) $fatal(1, "source %s ends amid a token", NAME);
        token = BITS'(bytes);
        found = count != 0;
    endtask
    /* verilator lint_on UNUSEDSIGNAL */

    initial begin
        string directory;
        logic [BITS-1:0] token;
        logic found;
        void'($value$plusargs("directory=%s", directory));
        file = $fopen({directory, "/source.", NAME}, "rb");
        if (file == 0) $fatal(1, "source %s has no file", NAME);
        read(token, found);
        transfer = token;
        valid = found;
    end

    always @(posedge clk)
        if (!rst && valid && ready) begin
            logic [BITS-1:0] token;
            logic found;
            read(token, found);
            transfer <= token;
            valid <= found;
        end
endmodule
