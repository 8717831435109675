// Memory behind an AXI4 bus: sim_axi_read and sim_axi_write stand between the channels of a master and a read or a write
// port of sim_memory. They take an address in every cycle and a transfer in every cycle, and ask memory for beats in
// order from the next cycle on. A beat that came from memory is on the bus from the next cycle on, in as many transfers
// as it takes; a burst that is written is answered two cycles after its last beat has become visible.
module sim_axi_read #(
    parameter int BYTES = 64,  // of a beat of memory
    parameter int BUS = 64,    // bytes of a transfer
    parameter int ADDRESS = 64
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [ADDRESS-1:0] araddr,
    input  logic [7:0]         arlen,
    input  logic               arvalid,
    output logic               arready,
    output logic [8*BUS-1:0]   rdata,
    output logic               rlast,
    output logic               rvalid,
    input  logic               rready,
    output logic [31:0]        request,
    output logic               request_valid,
    input  logic               request_ready,
    input  logic [8*BYTES-1:0] response,
    input  logic               response_valid
);
    localparam int TRANSFERS = BYTES > BUS ? BYTES / BUS : 1;
    localparam int LANES = BUS > BYTES ? BUS / BYTES : 1;
    localparam int BITS = BYTES > BUS ? 8 * BUS : 8 * BYTES;  // of a transfer that mean something

    logic [39:0]        bursts [$];  // transfers but one, beat
    logic [7:0]         due [$];     // transfers but one
    logic [8*BYTES-1:0] beats [$];
    int                 beat, part, transfer;  // of the burst that is asked for, of the beat and burst on the bus

    assign arready = 1'b1;

    // Simulation state with one reader, this block: blocking assignments keep the order of the steps plain.
    always @(posedge clk)
        if (rst) begin
            bursts.delete();
            due.delete();
            beats.delete();
            beat = 0;
            part = 0;
            transfer = 0;
            request_valid <= 1'b0;
            rvalid <= 1'b0;
        end else begin
            if (request_valid && request_ready) begin
                beat++;
                if (beat * TRANSFERS > 32'(bursts[0][39:32])) begin
                    void'(bursts.pop_front());
                    beat = 0;
                end
            end
            if (arvalid) begin
                bursts.push_back({arlen, 32'(araddr / BYTES)});
                due.push_back(arlen);
            end
            request_valid <= bursts.size() != 0;
            if (bursts.size() != 0) request <= bursts[0][31:0] + beat;

            if (rvalid && rready) begin
                transfer++;
                if (rlast) begin
                    void'(due.pop_front());
                    transfer = 0;
                end
                part++;
                if (part == TRANSFERS) begin
                    void'(beats.pop_front());
                    part = 0;
                end
            end
            if (response_valid) beats.push_back(response);
            rvalid <= beats.size() != 0;
            if (beats.size() != 0) begin
                rdata <= {LANES{beats[0][BITS*part+:BITS]}};
                rlast <= transfer == 32'(due[0]);
            end
        end
endmodule

module sim_axi_write #(
    parameter int BYTES = 64,
    parameter int BUS = 64,
    parameter int ADDRESS = 64
) (
    input  logic                clk,
    input  logic                rst,
    input  logic [ADDRESS-1:0]  awaddr,
    input  logic [7:0]          awlen,
    input  logic                awvalid,
    output logic                awready,
    input  logic [8*BUS-1:0]    wdata,
    input  logic [BUS-1:0]      wstrb,
    input  logic                wlast,
    input  logic                wvalid,
    output logic                wready,
    output logic                bvalid,
    input  logic                bready,
    output logic [8*BYTES+31:0] write,
    output logic                write_valid,
    input  logic                write_ready,
    input  logic                written
);
    localparam int TRANSFERS = BYTES > BUS ? BYTES / BUS : 1;
    localparam int LANES = BUS > BYTES ? BUS / BYTES : 1;
    localparam int USED = BYTES > BUS ? BUS : BYTES;  // bytes of a transfer that mean something

    logic [39:0]         bursts [$];  // transfers but one, beat
    logic [8*BYTES+31:0] beats [$];
    int                  due [$];     // beats of a burst that is whole
    logic [8*BYTES-1:0]  data;
    logic                visible;
    int                  beat, part, transfer, seen, answers, lane;

    assign awready = 1'b1, wready = 1'b1;

    always @(posedge clk)
        if (rst) begin
            bursts.delete();
            beats.delete();
            due.delete();
            beat = 0;
            part = 0;
            transfer = 0;
            seen = 0;
            answers = 0;
            visible = 1'b0;
            write_valid <= 1'b0;
            bvalid <= 1'b0;
        end else begin
            if (awvalid) bursts.push_back({awlen, 32'(awaddr / BYTES)});
            if (write_valid && write_ready) void'(beats.pop_front());
            if (wvalid) begin
                if (bursts.size() == 0) $fatal(1, "data comes before its address");
                lane = (bursts[0][31:0] + beat) % LANES;
                if (wstrb != {USED{1'b1}} * (BUS'(1) << USED * lane)) $fatal(1, "other bytes than those of the beat");
                if (wlast != (transfer == 32'(bursts[0][39:32]))) $fatal(1, "WLAST is wrong");
                data[8*USED*part+:8*USED] = wdata[8*USED*lane+:8*USED];
                transfer++;
                part++;
                if (part == TRANSFERS) begin
                    beats.push_back({data, bursts[0][31:0] + beat});
                    beat++;
                    part = 0;
                end
                if (wlast) begin
                    due.push_back(beat);
                    void'(bursts.pop_front());
                    beat = 0;
                    transfer = 0;
                end
            end
            write_valid <= beats.size() != 0;
            if (beats.size() != 0) write <= beats[0];

            if (bvalid && bready) answers--;
            if (visible) begin
                seen++;
                if (seen == due[0]) begin
                    void'(due.pop_front());
                    seen = 0;
                    answers++;
                end
            end
            visible = written;
            bvalid <= answers != 0;
        end
endmodule

// Counts what masters take from the ports of the fabric, reads first: the file `ports.taken` in +directory gets a line
// for each, requests of tiles or beats.
module sim_taken #(
    parameter int PORTS = 1
) (
    input logic             clk,
    input logic             rst,
    input logic             running,
    input logic [PORTS-1:0] taken
);
    longint counted [PORTS];
    string  directory;

    always @(posedge clk)
        for (int port = 0; port < PORTS; port++) if (!rst && running && taken[port]) counted[port]++;

    initial void'($value$plusargs("directory=%s", directory));

    final begin
        int file;
        file = $fopen({directory, "/ports.taken"}, "w");
        for (int port = 0; port < PORTS; port++) $fwrite(file, "%0d\n", counted[port]);
        $fclose(file);
    end
endmodule
