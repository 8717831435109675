// The off-chip memory: the ports of a fabric share channels of beats.
//
// Every cycle each port presents at most one beat: a read port the next beat of its oldest request, a write port its
// oldest beat. Who is granted, and when what it asked for is there, is decided in sim_memory_timing.cpp. A read sees
// what is in memory when it is granted, and its beat is on `response` when it arrives; a write is in memory, and seen by
// reads that are granted, from when it arrives on.
//
// The file `memory` in +directory holds the contents, each beat highest byte first (the order of $fread), the file
// `memory.timing` a line "NAME NUMBER" for each parameter; where there are write ports, `memory.after` gets the contents
// back at the end, each beat in whole 32-bit words, lowest byte first (%u). The file `memory.beats` gets a line for each
// port, reads first: the beats that it was granted.
module sim_memory #(
    parameter int BYTES = 64,                // of a beat
    parameter int BEATS = 1,
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
    input  logic            running,         // the simulation goes on in this cycle, which counts
    output logic [BITS-1:0] response [READ_PORTS],
    output logic            response_valid [READ_PORTS],
    input  logic [BITS+31:0] write [WRITE_PORTS],
    input  logic            write_valid [WRITE_PORTS],
    output logic            write_ready [WRITE_PORTS],
    output logic            written [WRITE_PORTS],  // reads see one more beat of this port, from this cycle on
    output logic            waiting,         // a beat is presented, and will be granted
    output logic            reading,         // a granted read is not back yet
    output logic            writing          // a write is waiting, or not visible yet
);
    logic [BITS-1:0] memory [BEATS];

    import "DPI-C" function int sim_memory_open(input string path, input int reads, input int writes);
    import "DPI-C" function void sim_memory_grant(
        input longint cycle, input bit [PORTS-1:0] presents, input bit [32*PORTS-1:0] addresses,
        output bit [PORTS-1:0] granted);
    import "DPI-C" function void sim_memory_commit(
        input longint cycle, input bit [PORTS-1:0] granted, input bit [32*PORTS-1:0] addresses,
        output bit [PORTS-1:0] arrives);

    longint              cycle;
    logic [31:0]         index [READ_PORTS];  // beat of the head request
    bit   [32*PORTS-1:0] addresses;           // that the ports present
    bit   [PORTS-1:0]    presents;
    bit   [PORTS-1:0]    granted;

    always_comb begin
        presents = '0;
        addresses = '0;
        for (int port = 0; port < READS; port++) begin
            presents[port] = request_valid[port] && !rst;
            addresses[32*port+:32] = request[port] + index[port];
        end
        for (int port = 0; port < WRITES; port++) begin
            presents[READS+port] = write_valid[port] && !rst;
            addresses[32*(READS+port)+:32] = write[port][31:0];
        end
        waiting = presents != '0;
    end

    // `cycle` changes when the last one is committed, so this is never asked too early.
    always_comb begin
        granted = '0;
        if (waiting) sim_memory_grant(cycle, presents, addresses, granted);
    end

    always_comb begin
        for (int port = 0; port < READ_PORTS; port++) request_ready[port] = 1'b0;
        for (int port = 0; port < WRITE_PORTS; port++) write_ready[port] = 1'b0;
        for (int port = 0; port < READS; port++)
            request_ready[port] = granted[port] && index[port] + 1 == REQUEST_BEATS[32*port+:32];
        for (int port = 0; port < WRITES; port++) write_ready[port] = granted[READS+port];
    end

    always_ff @(posedge clk)
        for (int port = 0; port < READS; port++)
            if (rst || request_ready[port]) index[port] <= 0;
            else if (granted[port]) index[port] <= index[port] + 1;

    // What was granted and has not arrived yet, by port and number; beats of a port arrive in their order.
    logic [BITS-1:0]  read_beats [longint];
    logic [BITS+31:0] write_beats [longint];
    int               granted_beats [PORTS];
    int               arrived_beats [PORTS];
    longint           counted_beats [PORTS];  // that were granted while the simulation ran
    int               reads_left;            // reads not on `response` yet
    int               writes_left;           // writes not visible yet
    logic             unseen;                // some write was granted and is not visible yet

    // Simulation state with one reader, this block: blocking assignments keep the order of the steps plain.
    always @(posedge clk)
        if (rst) begin
            cycle <= 0;
            reads_left = 0;
            writes_left = 0;
            read_beats.delete();
            write_beats.delete();
            for (int port = 0; port < READ_PORTS; port++) response_valid[port] <= 1'b0;
            for (int port = 0; port < WRITE_PORTS; port++) written[port] <= 1'b0;
            reading <= 1'b0;
            unseen <= 1'b0;
        end else begin
            bit [PORTS-1:0] arrives;
            cycle <= cycle + 1;
            for (int port = 0; port < PORTS; port++)
                if (granted[port] && addresses[32*port+:32] >= BEATS)
                    $fatal(1, "memory port %0d wants beat %0d of %0d", port, addresses[32*port+:32], BEATS);
            sim_memory_commit(cycle, granted, addresses, arrives);
            for (int port = 0; port < READS; port++) begin
                if (granted[port]) begin
                    read_beats[{port, granted_beats[port]}] = memory[addresses[32*port+:32]];
                    granted_beats[port]++;
                    if (running) counted_beats[port]++;
                    reads_left++;
                end
                response_valid[port] <= arrives[port];
                if (arrives[port]) begin
                    response[port] <= read_beats[{port, arrived_beats[port]}];
                    read_beats.delete({port, arrived_beats[port]});
                    arrived_beats[port]++;
                    reads_left--;
                end
            end
            for (int port = 0; port < WRITES; port++) begin
                if (written[port]) writes_left--;
                if (granted[READS+port]) begin
                    write_beats[{port, granted_beats[READS+port]}] = write[port];
                    granted_beats[READS+port]++;
                    if (running) counted_beats[READS+port]++;
                    writes_left++;
                end
                written[port] <= arrives[READS+port];
                if (arrives[READS+port]) begin
                    logic [BITS+31:0] beat;
                    beat = write_beats[{port, arrived_beats[READS+port]}];
                    write_beats.delete({port, arrived_beats[READS+port]});
                    arrived_beats[READS+port]++;
                    memory[beat[31:0]] = beat[BITS+31:32];
                end
            end
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
            if (sim_memory_open({directory, "/memory.timing"}, READS, WRITES) == 0)
                $fatal(1, "the memory's parameters can not be read");
        end
    end

    final begin
        int file;
        file = $fopen({directory, "/memory.beats"}, "w");
        for (int port = 0; port < READS + WRITES; port++) $fwrite(file, "%0d\n", counted_beats[port]);
        $fclose(file);
        if (WRITES > 0) begin
            file = $fopen({directory, "/memory.after"}, "wb");
            for (int beat = 0; beat < BEATS; beat++) $fwrite(file, "%u", memory[beat]);
            $fclose(file);
        end
    end
endmodule
