// The timing of sim_memory: which port is granted in a cycle, and when what it asked for is there. It is the rule of
// docs/memory.md, in integers. The numbers are in the file `memory.timing`, so one build serves every memory.
//
// In each cycle the Verilog calls sim_memory_grant, as often as its ports change, and sim_memory_commit at the end.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

using Number = std::int64_t;

// The lines of the file, in its order; those from FABRIC_PS on are there with DRAM only.
enum Parameter {
    CHANNELS, INTERLEAVE, INTERVAL, LATENCY, BEAT_BYTES, FABRIC_PS, CLOCK_PS, BANKS, BANK_GROUPS, ROW_BYTES, GROUP_BEATS,
    BURST_BYTES, BURST, CL, CWL, TRCD, TRP, TRAS, TCCD_L, TRRD_S, TRRD_L, TFAW, TRTP, TWR, TWTR_S, TWTR_L, TURNAROUND,
    TREFI, TRFC, QUEUE, OUT_OF_TURN, PARAMETERS
};

const char* const NAMES[PARAMETERS] = {
    "channels", "interleave", "interval", "latency", "beat_bytes", "fabric_ps", "clock_ps", "banks", "bank_groups",
    "row_bytes", "group_beats", "burst_bytes", "burst", "cl", "cwl", "trcd", "trp", "tras", "tccd_l", "trrd_s", "trrd_l", "tfaw",
    "trtp", "twr", "twtr_s", "twtr_l", "turnaround", "trefi", "trfc", "queue", "out_of_turn"
};

Number p[PARAMETERS];
bool has_dram;

Number rounded_up(Number dividend, Number divisor) { return (dividend + divisor - 1) / divisor; }
Number clock_of(Number cycle) { return rounded_up(cycle * p[FABRIC_PS], p[CLOCK_PS]); }
Number cycle_of(Number clock) { return rounded_up(clock * p[CLOCK_PS], p[FABRIC_PS]); }

constexpr Number CLOSED = -1;

struct Bank {
    Number row = CLOSED, activate_from = 0, precharge_from = 0, column_from = 0;
};

struct Group {
    Number activate_from = 0, column_from = 0, read_from = 0;
};

struct Place {
    Number bank, row;
};

struct Plan {
    Number activate, data;  // activate is -1 where the row is open
};

// One channel of DRAM: commands are planned when a beat is granted, and never change.
struct Dram {
    std::vector<Bank> banks = std::vector<Bank>(p[BANKS]);
    std::vector<Group> groups = std::vector<Group>(p[BANK_GROUPS]);
    std::vector<Number> data_ends = std::vector<Number>(p[QUEUE]);
    Number fourth_activate_from[4] = {}, activations = 0, granted = 0;
    Number activate_from = 0, read_from = 0, bus_free = 0, refresh_at = p[TREFI];
    bool bus_writes = false;

    // Column commands of a beat, each for a burst; a narrow beat takes a whole one.
    static Number columns() { return std::max(Number(1), p[BEAT_BYTES] / p[BURST_BYTES]); }

    static Place place(Number address, Number column = 0) {
        const Number beat = address / (p[INTERLEAVE] * p[CHANNELS]) * p[INTERLEAVE] + address % p[INTERLEAVE];
        const Number inside = beat * columns() + column, row_columns = p[ROW_BYTES] * columns() / p[BEAT_BYTES];
        const Number groups = p[BANK_GROUPS], in_group = p[BANKS] / groups;
        const Number above = inside / (groups * row_columns), row = above / in_group;
        const Number mixed = row ^ (row / p[BANKS]) ^ (row / p[BANKS] / p[BANKS]);
        const Number apart = std::max(Number(1), groups / columns());
        const Number turn = inside / std::max(p[GROUP_BEATS], columns()) + column * apart;
        const Number group = (turn ^ mixed ^ (mixed / in_group)) % groups;
        return {(above ^ mixed) % in_group * groups + group, row};
    }

    bool has_room(Number clock) const { return data_ends[granted % p[QUEUE]] <= clock; }

    void refresh(Number clock) {
        for (; refresh_at <= clock; refresh_at += p[TREFI]) {
            Number begin = refresh_at;
            for (const Bank& bank : banks)
                begin = std::max(begin, bank.row == CLOSED ? bank.activate_from : bank.precharge_from + p[TRP]);
            for (Bank& bank : banks) {
                bank.row = CLOSED;
                bank.activate_from = begin + p[TRFC];
            }
        }
    }

    Plan plan(Place at, bool writes, Number clock) const {
        const Bank& bank = banks[at.bank];
        const Group& group = groups[at.bank % p[BANK_GROUPS]];
        Number activate = -1, column;
        if (bank.row == at.row) {
            column = std::max(clock, bank.column_from);
        } else {
            activate = bank.row == CLOSED ? std::max(clock, bank.activate_from)
                                          : std::max(clock, bank.precharge_from) + p[TRP];
            activate = std::max({activate, activate_from, group.activate_from, fourth_activate_from[activations % 4]});
            column = activate + p[TRCD];
        }
        column = std::max(column, group.column_from);
        if (writes) return {activate, std::max(column + p[CWL], bus_free + (bus_writes ? 0 : p[TURNAROUND]))};
        column = std::max({column, read_from, group.read_from});
        return {activate, std::max(column + p[CL], bus_free)};
    }

    // Returns the clock in which the data has passed.
    Number grant(Number address, bool writes, Number clock) {
        for (Number column = 0; column < columns(); column++) move(place(address, column), writes, clock);
        return data_ends[granted++ % p[QUEUE]] = bus_free;
    }

    void move(Place at, bool writes, Number clock) {
        Bank& bank = banks[at.bank];
        Group& group = groups[at.bank % p[BANK_GROUPS]];
        const Plan planned = plan(at, writes, clock);
        if (planned.activate >= 0) {
            bank.row = at.row;
            bank.column_from = planned.activate + p[TRCD];
            bank.precharge_from = planned.activate + p[TRAS];
            activate_from = planned.activate + p[TRRD_S];
            group.activate_from = planned.activate + p[TRRD_L];
            fourth_activate_from[activations++ % 4] = planned.activate + p[TFAW];
        }
        const Number column = planned.data - p[writes ? CWL : CL], end = planned.data + p[BURST];
        group.column_from = column + p[TCCD_L];
        if (writes) {
            read_from = end + p[TWTR_S];
            group.read_from = end + p[TWTR_L];
        }
        bank.precharge_from = std::max(bank.precharge_from, writes ? end + p[TWR] : column + p[TRTP]);
        bus_free = end;
        bus_writes = writes;
    }
};

struct Channel {
    Number last = -1;  // the port that was granted last
    Number free_at = 0, out_of_turn = 0;
    std::vector<Dram> dram;  // one, or none

    // What the cycle has found so far: the port whose turn it is, and the one to be granted.
    int turn, best;
    Number data;
};

struct Port {
    bool writes = false;
    Number arrived = -1;
    std::deque<Number> arrivals;
};

std::vector<Channel> channels;
std::vector<Port> ports;

Channel& channel_of(Number address) { return channels[address / p[INTERLEAVE] % p[CHANNELS]]; }

// Whether port a has its turn before port b: those behind the one that was granted last are first.
bool before(const Channel& channel, int a, int b) {
    return (a > channel.last) != (b > channel.last) ? a > channel.last : a < b;
}

void look_at(Channel& channel, int port, Number address, Number clock) {
    Number data = 0;
    if (has_dram) data = channel.dram[0].plan(Dram::place(address), ports[port].writes, clock).data;
    if (channel.turn < 0 || before(channel, port, channel.turn)) channel.turn = port;
    const bool sooner = data < channel.data || (data == channel.data && before(channel, port, channel.best));
    if (channel.best < 0 || sooner) {
        channel.best = port;
        channel.data = data;
    }
}

bool is_set(const std::uint32_t* bits, std::size_t at) { return bits[at / 32] >> (at % 32) & 1; }

}  // namespace

extern "C" {

// Read the numbers; returns 0 where the file is not what it should be. The ports from `reads` on are those that write.
int sim_memory_open(const char* path, int reads, int writes) {
    std::FILE* file = std::fopen(path, "r");
    if (!file) return 0;
    int count = 0;
    char name[32];
    long long value;
    while (count < PARAMETERS && std::fscanf(file, "%31s %lld", name, &value) == 2) {
        if (std::strcmp(name, NAMES[count]) != 0) break;
        p[count++] = value;
    }
    std::fclose(file);
    if (count != PARAMETERS && count != BEAT_BYTES) return 0;
    has_dram = count == PARAMETERS;
    channels.assign(p[CHANNELS], Channel());
    if (has_dram)
        for (Channel& channel : channels) channel.dram.assign(1, Dram());
    ports.assign(reads + writes, Port());
    for (int port = reads; port < reads + writes; port++) ports[port].writes = true;
    return 1;
}

// Who is granted in `cycle`, of the ports that present a beat. It changes nothing that matters: what it is called with
// last in a cycle counts.
void sim_memory_grant(
    long long cycle, const std::uint32_t* presents, const std::uint32_t* addresses, std::uint32_t* granted) {
    const Number clock = has_dram ? clock_of(cycle) : 0;
    std::memset(granted, 0, (ports.size() + 31) / 32 * sizeof(*granted));
    for (Channel& channel : channels) {
        channel.turn = channel.best = -1;
        if (has_dram) channel.dram[0].refresh(clock);
    }
    for (std::size_t port = 0; port < ports.size(); port++) {
        if (!is_set(presents, port)) continue;
        Channel& channel = channel_of(addresses[port]);
        if (channel.free_at > cycle || (has_dram && !channel.dram[0].has_room(clock))) continue;
        look_at(channel, static_cast<int>(port), addresses[port], clock);
    }
    for (Channel& channel : channels) {
        if (channel.best < 0) continue;
        if (has_dram && channel.out_of_turn == p[OUT_OF_TURN]) channel.best = channel.turn;
        granted[channel.best / 32] |= 1u << (channel.best % 32);
    }
}

// The end of `cycle`, in which the ports in `granted` were; `arrives` are those for which a beat arrives in the next one.
void sim_memory_commit(
    long long cycle, const std::uint32_t* granted, const std::uint32_t* addresses, std::uint32_t* arrives) {
    std::memset(arrives, 0, (ports.size() + 31) / 32 * sizeof(*arrives));
    for (std::size_t number = 0; number < ports.size(); number++) {
        Port& port = ports[number];
        if (is_set(granted, number)) {
            Channel& channel = channel_of(addresses[number]);
            channel.out_of_turn = channel.best == channel.turn ? 0 : channel.out_of_turn + 1;
            channel.last = static_cast<Number>(number);
            channel.free_at = cycle + p[INTERVAL];
            Number passed = cycle;
            if (has_dram)
                passed = cycle_of(channel.dram[0].grant(addresses[number], port.writes, clock_of(cycle)));
            port.arrived = std::max(port.arrived + 1, passed + p[LATENCY]);
            port.arrivals.push_back(port.arrived);
        }
        if (!port.arrivals.empty() && port.arrivals.front() == cycle + 1) {
            port.arrivals.pop_front();
            arrives[number / 32] |= 1u << (number % 32);
        }
    }
}

}
