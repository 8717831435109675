// The off-chip memory: the ports of a fabric share CHANNELS channels of beats.
//
// Every cycle each port presents at most one beat: a read port the next beat of its oldest request, a write port
// its oldest beat. The beat belongs to channel (address mod CHANNELS). A channel grants one beat every INTERVAL
// cycles, to the first presenting port after the one that it granted last; ports are numbered reads first. A read
// granted in cycle c is on `response` in cycle c + LATENCY; a write granted in c is seen by reads from c + LATENCY on.
//
// The file `memory` in +directory holds the contents, each beat highest byte first (the order of $fread); where there
// are write ports, `memory.after` gets them back at the end, each beat in whole 32-bit words, lowest byte first (%u).
module sim_memory #(
    parameter int BYTES = 64,                // of a beat
    parameter int BEATS = 1,
    parameter int CHANNELS = 8,              // a power of two
    parameter int INTERVAL = 1,
    parameter int LATENCY = 24,
    parameter int READS = 0,
    parameter int WRITES = 0,
    localparam int BITS = 8 * BYTES,
    localparam int PORTS = READS + WRITES > 0 ? READS + WRITES : 1,
    localparam int READ_PORTS = READS > 0 ? READS : 1,
    localparam int WRITE_PORTS = WRITES > 0 ? WRITES : 1,
    parameter bit [32*READ_PORTS-1:0] REQUEST_BEATS = '0  // beats of one request of each read port
) (
    input  logic            clk,
    input  logic            rst,
    input  logic [31:0]     request [READ_PORTS],
    input  logic            request_valid [READ_PORTS],
    output logic            request_ready [READ_PORTS],
    output logic [BITS-1:0] response [READ_PORTS],
    output logic            response_valid [READ_PORTS],
    input  logic [BITS+31:0] write [WRITE_PORTS],
    input  logic            write_valid [WRITE_PORTS],
    output logic            write_ready [WRITE_PORTS],
    output logic            written [WRITE_PORTS],  // reads see one more beat of this port, from this cycle on
    output logic            granting,        // a beat is granted in this cycle
    output logic            reading,         // a granted read is not back yet
    output logic            writing          // a write is waiting, or not visible yet
);
    logic [BITS-1:0] memory [BEATS];

    // Which port has which beat of which channel, and who gets it.
    logic [31:0]      index [READ_PORTS];    // beat of the head request
    logic [31:0]      address [PORTS];
    logic [PORTS-1:0] presents;
    logic [PORTS-1:0] wants [CHANNELS];
    logic [PORTS-1:0] winner [CHANNELS];
    logic [PORTS-1:0] granted;
    logic [PORTS-1:0] later [CHANNELS];      // the ports after the one granted last
    int               wait_left [CHANNELS];  // cycles until the channel is free

    always_comb begin
        presents = '0;
        for (int port = 0; port < PORTS; port++) address[port] = '0;
        for (int port = 0; port < READS; port++) begin
            presents[port] = request_valid[port] && !rst;
            address[port] = request[port] + index[port];
        end
        for (int port = 0; port < WRITES; port++) begin
            presents[READS+port] = write_valid[port] && !rst;
            address[READS+port] = write[port][31:0];
        end

        for (int channel = 0; channel < CHANNELS; channel++) wants[channel] = '0;
        for (int port = 0; port < PORTS; port++)
            if (presents[port]) wants[address[port] & (CHANNELS - 1)][port] = 1'b1;

        granted = '0;
        for (int channel = 0; channel < CHANNELS; channel++) begin
            logic [PORTS-1:0] candidates;
            candidates = wants[channel] & later[channel];
            if (candidates == '0) candidates = wants[channel];
            if (wait_left[channel] != 0) candidates = '0;
            winner[channel] = candidates & (~candidates + 1'b1);
            granted |= winner[channel];
        end
        granting = granted != '0;

        for (int port = 0; port < READ_PORTS; port++) request_ready[port] = 1'b0;
        for (int port = 0; port < WRITE_PORTS; port++) write_ready[port] = 1'b0;
        for (int port = 0; port < READS; port++)
            request_ready[port] = granted[port] && index[port] + 1 == REQUEST_BEATS[32*port+:32];
        for (int port = 0; port < WRITES; port++) write_ready[port] = granted[READS+port];
    end

    always_ff @(posedge clk)
        for (int channel = 0; channel < CHANNELS; channel++)
            if (rst) begin
                later[channel] <= '0;
                wait_left[channel] <= 0;
            end else if (winner[channel] != '0) begin
                later[channel] <= ~(winner[channel] | (winner[channel] - 1'b1));
                wait_left[channel] <= INTERVAL - 1;
            end else if (wait_left[channel] != 0) wait_left[channel] <= wait_left[channel] - 1;

    always_ff @(posedge clk)
        for (int port = 0; port < READS; port++)
            if (rst || request_ready[port]) index[port] <= 0;
            else if (granted[port]) index[port] <= index[port] + 1;

    // What was granted in cycle c waits in slot (c mod LATENCY) of these rings.
    int               slot;
    logic [PORTS-1:0] flying [LATENCY];
    logic [BITS-1:0]  read_beat [READ_PORTS][LATENCY];
    logic [BITS+31:0] write_beat [WRITE_PORTS][LATENCY];
    int               reads_left;            // reads not on `response` yet
    int               writes_left;           // writes not visible yet
    logic             unseen;                // some write was granted and is not visible yet

    // Simulation state with one reader, this block: blocking assignments keep the order of the steps plain.
    always @(posedge clk)
        if (rst) begin
            slot = 0;
            reads_left = 0;
            writes_left = 0;
            for (int place = 0; place < LATENCY; place++) flying[place] = '0;
            for (int port = 0; port < READ_PORTS; port++) response_valid[port] <= 1'b0;
            for (int port = 0; port < WRITE_PORTS; port++) written[port] <= 1'b0;
            reading <= 1'b0;
            unseen <= 1'b0;
        end else begin
            int next;
            next = slot + 1 == LATENCY ? 0 : slot + 1;
            for (int port = 0; port < WRITES; port++)
                if (flying[slot][READS+port]) begin
                    memory[write_beat[port][slot][31:0]] = write_beat[port][slot][BITS+31:32];
                    writes_left = writes_left - 1;
                end
            for (int port = 0; port < PORTS; port++)
                if (granted[port] && address[port] >= BEATS)
                    $fatal(1, "memory port %0d wants beat %0d of %0d", port, address[port], BEATS);
            for (int port = 0; port < READS; port++)
                if (granted[port]) begin
                    read_beat[port][slot] = memory[address[port]];
                    reads_left = reads_left + 1;
                end
            for (int port = 0; port < WRITES; port++)
                if (granted[READS+port]) begin
                    write_beat[port][slot] = write[port];
                    writes_left = writes_left + 1;
                end
            flying[slot] = granted;
            for (int port = 0; port < READS; port++) begin
                response_valid[port] <= flying[next][port];
                if (flying[next][port]) begin
                    response[port] <= read_beat[port][next];
                    reads_left = reads_left - 1;
                end
            end
            for (int port = 0; port < WRITES; port++) written[port] <= flying[next][READS+port];
            slot = next;
            reading <= reads_left != 0;
            unseen <= writes_left != 0;
        end

    always_comb begin
        writing = unseen;
        for (int port = 0; port < WRITES; port++) writing |= write_valid[port];
    end

    string directory;

    initial begin
        int file;
        void'($value$plusargs("directory=%s", directory));
        if (READS + WRITES > 0) begin
            file = $fopen({directory, "/memory"}, "rb");
            if (file == 0) $fatal(1, "the memory has no file");
            if ($fread(memory, file) != BYTES * BEATS) $fatal(1, "the memory's file is too short");
            $fclose(file);
        end
    end

    final
        if (WRITES > 0) begin
            int file;
            file = $fopen({directory, "/memory.after"}, "wb");
            for (int beat = 0; beat < BEATS; beat++) $fwrite(file, "%u", memory[beat]);
            $fclose(file);
        end
endmodule
