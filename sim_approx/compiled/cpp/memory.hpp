// The off-chip memory: `sim_approx.memory` in C++, by hand like that.
#pragma once
#include "words.hpp"

struct Port {
    Channel *asks, *arrives;
    int64_t beats, beat;
    bool writes;
};

struct Memory final : Machine {
    int64_t beat_interval = 1, interleave = 1;
    std::vector<Port> ports;
    int64_t last_read = 0, last_write = 0;

    void prepare(int64_t channels) {
        words_ = int64_t(ports.size() + 63) / 64;
        wants_.assign(channels * words_, 0);
        granted_.assign(channels, -1);
        free_at_.assign(channels, 0);
        is_wanted_.assign((channels + 63) / 64, 0);
        for (int64_t port = 0; port < int64_t(ports.size()); port++) idle_.push_back(port);
        last_read = last_write = -latency;
    }

    bool writing() const {
        for (const Port& each : ports)
            if (each.writes && each.asks->shown) return true;
        return false;
    }

    static int fire(Machine& machine, Engine& e) {
        Memory& self = static_cast<Memory&>(machine);
        self.next_idle_.clear();
        for (int64_t port : self.idle_)
            if (!self.present(port)) self.next_idle_.push_back(port);
        self.idle_.swap(self.next_idle_);
        if (!self.waiting()) {
            for (int64_t port : self.idle_) self.ports[port].asks->reader_waits = true;
            return STARVES;
        }
        for (int64_t word = 0; word < int64_t(self.is_wanted_.size()); word++)
            for (uint64_t rest = self.is_wanted_[word]; rest; rest &= rest - 1) {
                int64_t channel = word * 64 + __builtin_ctzll(rest);
                if (self.free_at_[channel] <= e.now) self.grant(channel, e);
            }
        return FIRES;
    }

   private:
    int64_t words_ = 0;               // of a set of ports
    std::vector<uint64_t> wants_;     // by channel, the ports that present a beat for it
    std::vector<uint64_t> is_wanted_;  // the channels for which any does
    std::vector<int64_t> granted_, free_at_, idle_, next_idle_;

    bool waiting() const {
        for (uint64_t word : is_wanted_)
            if (word) return true;
        return false;
    }

    bool present(int64_t number) {
        const Port& port = ports[number];
        if (!port.asks->shown) return false;
        int64_t channels = int64_t(free_at_.size());
        int64_t address = port.asks->front().value + (port.writes ? 0 : port.beat);
        int64_t channel = address / interleave & (channels - 1);
        wants_[channel * words_ + number / 64] |= uint64_t(1) << number % 64;
        is_wanted_[channel / 64] |= uint64_t(1) << channel % 64;
        return true;
    }

    // The first port after the one that was granted last.
    int64_t turn(int64_t channel) const {
        const uint64_t* wants = &wants_[channel * words_];
        int64_t first = granted_[channel] + 1;
        for (int64_t word = first / 64; word < words_; word++) {
            uint64_t found = wants[word] & (word == first / 64 ? ~uint64_t(0) << first % 64 : ~uint64_t(0));
            if (found) return word * 64 + __builtin_ctzll(found);
        }
        for (int64_t word = 0;; word++)
            if (wants[word]) return word * 64 + __builtin_ctzll(wants[word]);
    }

    void grant(int64_t channel, Engine& e) {
        int64_t number = turn(channel);
        uint64_t* wants = &wants_[channel * words_];
        wants[number / 64] &= ~(uint64_t(1) << number % 64);
        bool others = false;
        for (int64_t word = 0; word < words_; word++) others |= wants[word] != 0;
        if (!others) is_wanted_[channel / 64] &= ~(uint64_t(1) << channel % 64);
        granted_[channel] = number;
        free_at_[channel] = e.now + beat_interval;
        Port& port = ports[number];
        port.beat++;
        if (port.writes) {
            e.take(port.asks);
            last_write = e.now + latency;
        } else {
            last_read = e.now + latency;
        }
        if (port.beat == port.beats) {
            port.beat = 0;
            if (!port.writes) e.take(port.asks);
            if (port.arrives) e.put(port.arrives, Token(UNKNOWN));
        }
        idle_.push_back(number);
    }
};

inline bool is_writing(const Memory& memory) { return memory.writing(); }
inline int64_t last_write(const Memory& memory) { return memory.last_write; }
inline int64_t last_read(const Memory& memory) { return memory.last_read; }
