// Drives the module `restarting`: whole runs, each behind one that was stopped by a reset of the fabric after STOP
// cycles, for every STOP of the command line. What the fabric reads in a run that is stopped is wrong, and memory knows
// nothing of resets. Every third one is reset for three cycles, and once more soon after.
//
// Prints "LENGTH" of a whole run, in cycles, then "STOP HOW" for each run that is not like the first one.

#include <cstdio>
#include <cstdlib>

#include "Vrestarting.h"
#include "verilated.h"

static VerilatedContext context;
static Vrestarting top{&context};

static void tick() {
    top.clk = 0;
    top.eval();
    top.clk = 1;
    top.eval();
    context.timeInc(1);
}

static void reset(int cycles, bool damaged) {
    top.rst = 1;
    top.restore = 1;
    top.damaged = damaged;
    for (int at = 0; at < cycles; at++) tick();
    top.rst = 0;
    top.restore = 0;
}

static int run(int most) {
    int cycle = 0;
    for (; cycle != most && !top.over; cycle++) tick();
    return cycle;
}

int main(int count, char** words) {
    const int hang = 20000;
    context.commandArgs(count, words);
    top.memory_rst = 1;
    reset(3, false);
    top.memory_rst = 0;
    top.learns = 1;
    const int length = run(hang);
    tick();
    top.learns = 0;
    std::printf("%d\n", length);
    for (int at = 1; at < count; at++) {
        if (words[at][0] == '+') continue;
        const int stop = std::atoi(words[at]);
        reset(1, true);
        run(stop);
        if (stop % 3 == 0) {
            reset(3, true);
            run(stop % 7);
        }
        reset(1, false);
        const bool ended = run(hang) < hang;
        tick();
        if (!ended) std::printf("%d hangs\n", stop);
        else if (top.wrong) std::printf("%d wrong\n", stop);
    }
    top.final();
}
