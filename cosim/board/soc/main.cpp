// Runs the system: a clock, a reset, and characters of the UART to standard output.
//
// The firmware ends with a character: EOT where all was right, CAN where not. ARGV[1]: cycles after which it hangs.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "Vsoc.h"

namespace {
constexpr char END = 4, CANCEL = 24;
constexpr int RESET_CYCLES = 16;
}

int main(int count, char** arguments) {
    VerilatedContext context;
    context.commandArgs(count, arguments);
    Vsoc soc{&context};
    const uint64_t most = count > 1 ? std::strtoull(arguments[1], nullptr, 0) : UINT64_MAX;
    soc.serial_source_ready = 1;
    soc.sim_trace = 0;
    for (uint64_t cycle = 0; cycle < most; ++cycle) {
        soc.sys_rst = cycle < RESET_CYCLES;
        soc.sys_clk = 0;
        soc.eval();
        const bool said = !soc.sys_rst && soc.serial_source_valid;
        const char character = static_cast<char>(soc.serial_source_data);
        soc.sys_clk = 1;
        soc.eval();
        if (!said) continue;
        if (character == END || character == CANCEL) {
            std::printf("%s in %llu cycles\n", character == END ? "all right" : "not right",
                        static_cast<unsigned long long>(cycle));
            soc.final();
            return character != END;
        }
        std::putchar(character);
        std::fflush(stdout);
    }
    std::printf("no end within %llu cycles\n", static_cast<unsigned long long>(most));
    return 1;
}
