// The off-chip memory: `sim_approx.memory` in C++, by hand like that.
#pragma once
#include "dram.hpp"

// A port sleeps until it has something to ask for; then it is the memory that looks at it in every cycle.
struct Port final : Machine {
    Channel *asks, *arrives;
    int64_t beats, beat = 0, address = 0, arrived = -1;
    bool writes;
    int32_t number;
    std::vector<Port*>* presenting;

    static int fire(Machine& machine, Engine&) {
        Port& self = static_cast<Port&>(machine);
        self.presenting->push_back(&self);
        return STARVES;
    }
};

// What the memory knows of one of its channels: which port was granted last, how many ports want it, how many beats in a
// row were not in turn.
struct MemoryChannel {
    int64_t granted = -1, free_at = 0, wanted = 0, out_of_turn = 0;
};

struct Memory final : SharedMemory {
    int64_t beat_interval = 1, interleave = 1, longest = 1;  // the last one: beats of the longest burst
    std::vector<Port> ports;
    Channels before;  // where something may be that is to be written, besides the channels of ports
    DramConfig dram = {};

    // `beat_bytes`: 0 where there is no DRAM.
    void prepare(int64_t channels, int64_t beat_bytes) {
        words_ = int64_t(ports.size() + 63) / 64;
        interleave_bits_ = __builtin_ctzll(uint64_t(interleave));
        channels_.resize(channels);
        wants_.assign(channels * words_, 0);
        is_wanted_.assign((channels + 63) / 64, 0);
        for (int64_t channel = 0; channel < channels && beat_bytes; channel++)
            drams_.emplace_back(dram, channels, interleave, beat_bytes);
        for (Port& port : ports) {
            port.rule = Port::fire;
            port.number = int32_t(&port - ports.data());
            port.order = -1;  // it is none of the machines
            port.due = NEVER;
            port.presenting = &presenting_;
            port.asks->reader = &port;
            presenting_.push_back(&port);
        }
        due = NEVER;
        last_read = last_write = -latency;
    }

    bool is_writing(int64_t now) const override {
        for (const Port& each : ports)
            if (each.writes && each.asks->readable(now + 1)) return true;
        for (Channel* each : before)
            if (each->readable(now + 1)) return true;
        return false;
    }

    int64_t channel_count() const override { return int64_t(channels_.size()); }

    int64_t port_count() const override { return int64_t(ports.size()); }

    bool is_idle() const override { return presenting_.empty() && !is_waited_for(); }

    bool repeats() const override { return drams_.empty(); }

    int64_t same_way() const override { return std::max(interleave * int64_t(channels_.size()), longest); }

    void visit_ports(State& state) override {
        std::sort(presenting_.begin(), presenting_.end(), [](Port* a, Port* b) { return a->number < b->number; });
        state.same(int64_t(presenting_.size()));
        if (!state.fits) return;
        for (Port* port : presenting_) state.same(port->number);
        state.time(last_read);
        state.time(last_write);
        for (uint64_t word : wants_) state.same(int64_t(word));
        for (MemoryChannel& each : channels_) {
            state.same(each.granted);
            state.same(each.wanted);
            state.same(each.out_of_turn);
            state.time(each.free_at);
        }
        for (Port& port : ports) {
            if (!state.fits) return;
            visit(state, port);
            state.same(port.beat);
            state.address(port.address);
            state.time(port.arrived);
        }
    }

    void each_port(const std::function<void(Machine&)>& action) override {
        for (Port& port : ports) action(port);
    }

    void save_beats(std::vector<int64_t>& out) const override {
        for (const Port& port : ports) out.push_back(port.beat);
    }

    bool serve(Engine& e) override {
        for (Port* port : presenting_) present(*port, e);
        presenting_.clear();
        if (!is_waited_for()) return false;
        for (int64_t word = 0; word < int64_t(is_wanted_.size()); word++)
            for (uint64_t rest = is_wanted_[word]; rest; rest &= rest - 1) {
                int64_t channel = word * 64 + __builtin_ctzll(rest);
                if (channels_[channel].free_at > e.now) continue;
                int64_t winner = drams_.empty() ? in_turn(channel) : in_dram(channel, e.now);
                if (winner >= 0) grant(channel, ports[winner], e);
            }
        return true;
    }

   private:
    int64_t words_ = 0;  // of a set of ports
    int interleave_bits_ = 0;
    std::vector<MemoryChannel> channels_;
    std::vector<uint64_t> wants_;      // by channel, the ports that present a beat for it
    std::vector<uint64_t> is_wanted_;  // the channels for which any does
    std::vector<Port*> presenting_;    // those to be looked at in the next cycle
    std::vector<DramChannel> drams_;

    bool is_waited_for() const {
        for (uint64_t word : is_wanted_)
            if (word) return true;
        return false;
    }

    void present(Port& port, Engine& e) {
        if (port.beat && !port.writes) {  // another one of the tile that it asked for
            port.address++;
        } else if (port.asks->readable(e.now)) {
            port.address = port.asks->front().value;
        } else {
            e.starve(port, *port.asks);
            return;
        }
        int64_t channel = port.address >> interleave_bits_ & (int64_t(channels_.size()) - 1);
        wants_[channel * words_ + port.number / 64] |= uint64_t(1) << port.number % 64;
        is_wanted_[channel / 64] |= uint64_t(1) << channel % 64;
        channels_[channel].wanted++;
    }

    // Calls `visit` with the ports that want `channel`, those after the one that was granted last first, until it
    // returns true.
    template <typename Visit>
    void visit_in_turn(int64_t channel, Visit visit) const {
        const uint64_t* wants = &wants_[channel * words_];
        int64_t first = channels_[channel].granted + 1, word = first / 64 < words_ ? first / 64 : 0;
        uint64_t later = word == first / 64 ? ~uint64_t(0) << first % 64 : ~uint64_t(0);
        for (int64_t step = 0; step <= words_; step++) {
            uint64_t rest = wants[word] & (step == 0 ? later : step == words_ ? ~later : ~uint64_t(0));
            for (; rest; rest &= rest - 1)
                if (visit(word * 64 + __builtin_ctzll(rest))) return;
            word = word + 1 < words_ ? word + 1 : 0;
        }
    }

    // The first port that `visit_in_turn` comes to, without branches that nobody could predict.
    int64_t in_turn(int64_t channel) const {
        const uint64_t* wants = &wants_[channel * words_];
        int64_t first = channels_[channel].granted + 1, lowest = -1, later = -1;
        for (int64_t word = words_ - 1; word >= 0; word--) {
            int64_t base = word * 64, before = first - base;
            uint64_t from_first = before <= 0 ? ~uint64_t(0) : before < 64 ? ~uint64_t(0) << before : 0;
            uint64_t all = wants[word], behind = all & from_first;
            lowest = all ? base + __builtin_ctzll(all) : lowest;
            later = behind ? base + __builtin_ctzll(behind) : later;
        }
        return later >= 0 ? later : lowest;
    }

    int64_t in_dram(int64_t channel, int64_t now) {
        DramChannel& bank = drams_[channel];
        int64_t clock = bank.clock_of(now);
        if (!bank.has_room(clock)) return -1;
        bank.refresh(clock);
        int64_t turn = in_turn(channel), best = turn;
        int64_t& out_of_turn = channels_[channel].out_of_turn;
        if (out_of_turn < dram.out_of_turn) {
            int64_t first = 0;
            visit_in_turn(channel, [&](int64_t number) {
                const Port& port = ports[number];
                int64_t data = bank.plan(bank.place(port.address), port.writes, clock).data;
                if (number == turn || data < first) best = number, first = data;
                return false;
            });
        }
        out_of_turn = best == turn ? 0 : out_of_turn + 1;
        return best;
    }

    void grant(int64_t channel, Port& port, Engine& e) {
        MemoryChannel& served = channels_[channel];
        wants_[channel * words_ + port.number / 64] &= ~(uint64_t(1) << port.number % 64);
        if (!--served.wanted) is_wanted_[channel / 64] &= ~(uint64_t(1) << channel % 64);
        served.granted = port.number;
        served.free_at = e.now + beat_interval;
        if (__builtin_expect(e.profile.width != 0, false)) e.profile.grant(port.writes, e.now);
        if (e.recorder) e.recorder->grants(port.number, *port.asks, channel, beat_interval, e.now);
        int64_t arrival = e.now;
        if (!drams_.empty()) {
            DramChannel& bank = drams_[channel];
            arrival = bank.cycle_of(bank.grant(port.address, port.writes, bank.clock_of(e.now)));
        }
        port.arrived = std::max(port.arrived + 1, arrival + latency);
        port.beat++;
        int64_t& last = port.writes ? last_write : last_read;
        last = std::max(last, port.arrived);
        if (port.writes) e.take(port.asks);
        if (port.beat == port.beats) {
            port.beat = 0;
            if (!port.writes) e.take(port.asks);
            if (port.arrives) e.send(port.arrives, Token(UNKNOWN), port.arrived + 1);
        }
        if (e.recorder) e.recorder->granted(order + port.number, port.address, port.arrived - e.now, e.now);
        presenting_.push_back(&port);
    }
};
