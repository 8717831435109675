// Watches a fabric: counts, keeps the event log, and ends the simulation.
//
// Cycle 0 is the first cycle after reset. The run ends in the first cycle in which one of these holds, and that cycle
// is not part of it: everything is finished; a unit reports a fault; +max_cycles cycles have passed; nothing moved for
// +watchdog cycles. After the first two the simulation goes on, until one of the last two holds, as more faults may be
// met; a fault behind the end takes the place of "everything is finished". `ended` is high when all is over.
//
// Files in +directory:
//   monitor  text, written when the run ends, one line each: "run STATUS CYCLES" (see the codes below), "unit STARVED
//            BUSY BLOCKED FINISHED LAST" for each unit (cycles in each activity, and the one in the cycle after them),
//            "channel TOKENS PEAK LEVEL" for each channel, "buffer PEAK LEVEL" for the pages of each that fills buffers,
//            and "pages PEAK" for those of all together. A run in which nothing moves any more ends with the last
//            movement. At the end of the simulation there follow "simulated CYCLES" and "fault UNIT CODE" for each
//            unit that met one
//   events   with +log: one 64-bit word per event, lowest byte first: bits 63:27 cycle, 26:11 channel,
//            10 leave (else enter), 9:0 control of the token that enters: rank, stop (four bits each), value, done
module sim_monitor #(
    parameter int CHANNELS = 1,
    parameter int UNITS = 1,
    parameter int BUFFERS = 1,
    parameter int SETTLING = 10000  // the watchdog, if no other is given
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [CHANNELS-1:0]   enter,
    input  logic [CHANNELS-1:0]   leave,
    input  logic [10*CHANNELS-1:0] token,
    input  logic [2*UNITS-1:0]    activity,
    input  logic [4*UNITS-1:0]    fault,
    input  logic [16*BUFFERS-1:0] pages,  // that each has, from what it did before this cycle
    input  logic                  finished,  // sinks, stores and writes
    input  logic                  memory_moves,
    output logic                  running,  // the simulation goes on in this cycle
    output logic                  ended
);
    import "DPI-C" function int sim_log_open(input string path);
    import "DPI-C" function void sim_log_event(input longint word);
    import "DPI-C" function void sim_log_close();

    localparam int RUNNING = 0, FINISHED = 1, STALLED = 2, RUNAWAY = 3, FAULT = 4;

    string directory;
    longint max_cycles, watchdog;
    logic log;  // whether events are written

    int status;  // how the run ended
    longint cycle, moved;
    longint cycles_in[4*UNITS];  // up to the last movement
    longint still_in[4*UNITS];   // since then
    longint tokens[CHANNELS];
    int level[CHANNELS];
    int peak[CHANNELS];
    int pages_now[BUFFERS];
    int pages_peak[BUFFERS];
    int all_pages, all_pages_peak;
    logic [4*UNITS-1:0] last_fault;

    always_comb begin
        all_pages = 0;
        for (int each = 0; each < BUFFERS; each++) begin
            pages_now[each] = 32'(pages[16*each+:16]);
            all_pages += pages_now[each];
        end
    end

    logic over;
    int next_status;
    always_comb begin
        over = cycle == max_cycles || cycle - moved == watchdog;
        if (status == FAULT || (fault != '0 && !over)) next_status = FAULT;
        else if (status == FINISHED || finished) next_status = FINISHED;
        else if (cycle == max_cycles) next_status = RUNAWAY;
        else if (over) next_status = STALLED;
        else next_status = RUNNING;
    end

    assign running = !over && !ended;

    task automatic count_pages();
        for (int each = 0; each < BUFFERS; each++)
            if (pages_now[each] > pages_peak[each]) pages_peak[each] = pages_now[each];
        if (all_pages > all_pages_peak) all_pages_peak = all_pages;
    endtask

    task automatic report(input int how);
        int file = $fopen({directory, "/monitor"}, "w");
        $fwrite(file, "run %0d %0d\n", how, how == STALLED ? moved : cycle);
        for (int unit = 0; unit < UNITS; unit++) begin
            $fwrite(file, "unit");
            for (int each = 4 * unit; each < 4 * unit + 4; each++)
                $fwrite(file, " %0d", cycles_in[each] + (how == STALLED ? 0 : still_in[each]));
            $fwrite(file, " %0d\n", activity[2*unit+:2]);
        end
        for (int each = 0; each < CHANNELS; each++)
            $fwrite(file, "channel %0d %0d %0d\n", tokens[each], peak[each], level[each]);
        count_pages();  // taken in the last cycle
        for (int each = 0; each < BUFFERS; each++) $fwrite(file, "buffer %0d %0d\n", pages_peak[each], pages_now[each]);
        $fwrite(file, "pages %0d\n", all_pages_peak);
        $fclose(file);
    endtask

    initial begin
        void'($value$plusargs("directory=%s", directory));
        if (!$value$plusargs("max_cycles=%d", max_cycles)) max_cycles = 64'd1 << 36;
        if (!$value$plusargs("watchdog=%d", watchdog)) watchdog = 64'(SETTLING);
        log = $test$plusargs("log") != 0;
        if (log && sim_log_open({directory, "/events"}) == 0) $fatal(1, "the event log can not be written");
        status = RUNNING;
        cycle = 0;
        moved = 0;
        ended = 1'b0;
    end

    always @(posedge clk)
        if (!rst && !ended) begin
            if (next_status != status) report(next_status);
            status <= next_status;
            ended <= over;
            if (!over) begin
                cycle <= cycle + 1;
                last_fault <= fault;
                count_pages();
                if (enter != '0 || leave != '0 || memory_moves) begin
                    moved <= cycle + 1;
                    if (moved != cycle)
                        for (int each = 0; each < 4 * UNITS; each++) begin
                            cycles_in[each] += still_in[each];
                            still_in[each] = 0;
                        end
                    for (int unit = 0; unit < UNITS; unit++) cycles_in[4*unit+32'(activity[2*unit+:2])]++;
                end else
                    for (int unit = 0; unit < UNITS; unit++) still_in[4*unit+32'(activity[2*unit+:2])]++;
                for (int channel = 0; channel < CHANNELS; channel++)
                    if (enter[channel] || leave[channel]) begin
                        if (enter[channel]) begin
                            tokens[channel]++;
                            level[channel]++;
                            if (log) sim_log_event({cycle[36:0], 16'(channel), 1'b0, token[10*channel+:10]});
                        end
                        if (leave[channel]) begin
                            level[channel]--;
                            if (log) sim_log_event({cycle[36:0], 16'(channel), 1'b1, 10'b0});
                        end
                        if (level[channel] > peak[channel]) peak[channel] = level[channel];
                    end
            end
        end

    final begin
        int file;
        file = $fopen({directory, "/monitor"}, "a");
        $fwrite(file, "simulated %0d\n", cycle);
        for (int unit = 0; unit < UNITS; unit++)
            if (last_fault[4*unit+:4] != 0) $fwrite(file, "fault %0d %0d\n", unit, last_fault[4*unit+:4]);
        $fclose(file);
        if (log) sim_log_close();
    end
endmodule
