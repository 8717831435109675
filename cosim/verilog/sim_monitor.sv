// Watches a fabric: counts, keeps the event log, and ends the run.
//
// Cycle 0 is the first cycle after reset. The run ends in the first cycle in which one of these holds, and that cycle
// is not part of it: a unit reports a fault; everything is finished; +max_cycles cycles have passed; nothing moved for
// +watchdog cycles. `ended` is high from the next cycle on.
//
// Files in +directory, written at the end of the simulation:
//   monitor  text, one line each: "run STATUS CYCLE MOVED UNIT FAULT" (see the codes below; MOVED is the first cycle
//            after the last movement), "unit STARVED BUSY BLOCKED FINISHED LAST" for each unit (cycles in each
//            activity, and the one at the end), "channel TOKENS PEAK LEVEL" for each channel
//   events   with +log: one 64-bit word per event, lowest byte first: bits 63:27 cycle, 26:11 channel,
//            10 leave (else enter), 9:0 control of the token that enters: rank, stop (four bits each), value, done
module sim_monitor #(
    parameter int CHANNELS = 1,
    parameter int UNITS = 1
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [CHANNELS-1:0]   enter,
    input  logic [CHANNELS-1:0]   leave,
    input  logic [10*CHANNELS-1:0] token,
    input  logic [2*UNITS-1:0]    activity,
    input  logic [4*UNITS-1:0]    fault,
    input  logic                  finished,  // sinks, stores and writes
    input  logic                  memory_moves,
    output logic                  running,  // this cycle is part of the run
    output logic                  ended
);
    import "DPI-C" function int sim_log_open(input string path);
    import "DPI-C" function void sim_log_event(input longint word);
    import "DPI-C" function void sim_log_close();

    localparam int RUNNING = 0, FINISHED = 1, STALLED = 2, RUNAWAY = 3, FAULT = 4;

    string directory;
    longint max_cycles, watchdog;
    logic log;  // whether events are written

    int status;
    longint cycle, moved;
    longint cycles_in[4*UNITS];
    longint tokens[CHANNELS];
    int level[CHANNELS];
    int peak[CHANNELS];
    logic [2*UNITS-1:0] last_activity;
    logic [4*UNITS-1:0] last_fault;

    int next_status;
    always_comb
        if (fault != '0) next_status = FAULT;
        else if (finished) next_status = FINISHED;
        else if (cycle == max_cycles) next_status = RUNAWAY;
        else if (cycle - moved == watchdog) next_status = STALLED;
        else next_status = RUNNING;

    assign running = next_status == RUNNING && !ended;

    initial begin
        void'($value$plusargs("directory=%s", directory));
        if (!$value$plusargs("max_cycles=%d", max_cycles)) max_cycles = 64'd1 << 36;
        if (!$value$plusargs("watchdog=%d", watchdog)) watchdog = 10000;
        log = $test$plusargs("log") != 0;
        if (log && sim_log_open({directory, "/events"}) == 0) $fatal(1, "the event log can not be written");
        status = RUNNING;
        cycle = 0;
        moved = 0;
        ended = 1'b0;
    end

    always @(posedge clk)
        if (!rst && !ended) begin
            status <= next_status;
            ended <= next_status != RUNNING;
            last_activity <= activity;
            last_fault <= fault;
            if (next_status == RUNNING) begin
                cycle <= cycle + 1;
                if (enter != '0 || leave != '0 || memory_moves) moved <= cycle + 1;
                for (int unit = 0; unit < UNITS; unit++)
                    cycles_in[4*unit+32'(activity[2*unit+:2])]++;
                for (int channel = 0; channel < CHANNELS; channel++) begin
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
        int file, unit, code;
        unit = 0;
        code = 0;
        for (int each = UNITS - 1; each >= 0; each--)
            if (last_fault[4*each+:4] != 0) begin
                unit = each;
                code = 32'(last_fault[4*each+:4]);
            end
        file = $fopen({directory, "/monitor"}, "w");
        $fwrite(file, "run %0d %0d %0d %0d %0d\n", status, cycle, moved, unit, code);
        for (int each = 0; each < UNITS; each++)
            $fwrite(file, "unit %0d %0d %0d %0d %0d\n", cycles_in[4*each], cycles_in[4*each+1], cycles_in[4*each+2],
                    cycles_in[4*each+3], last_activity[2*each+:2]);
        for (int each = 0; each < CHANNELS; each++)
            $fwrite(file, "channel %0d %0d %0d\n", tokens[each], peak[each], level[each]);
        $fclose(file);
        if (log) sim_log_close();
    end
endmodule
