// What every firing of a run waited for: `sim_approx.explain.record` in C++.
#pragma once
#include "parts.hpp"

constexpr int32_t NOBODY = -1;

enum Kind : uint8_t { AFTER, SENDING, ARRIVAL, FULL, BEATS, BANDWIDTH, CROWDED };

// A firing of `machine`, or a beat of a port of the memory, which is that much behind the memory among the machines.
struct Fired {
    int64_t cycle;
    int32_t origin, machine;
    uint32_t number;  // of the channel that was waited for; of a beat, its address
    int32_t late, size;  // rows of its tile, where these are dynamic; of a beat: the cycles until it is there
    uint8_t kind, outcome;
};

struct Wait {
    int64_t since, until;
    int32_t machine, channel;
    uint8_t activity;
};

class Recorder {
   public:
    std::vector<std::vector<Fired>> fired;  // in parts, as what grows would be copied again and again
    std::vector<Wait> waits;

    void start(const std::vector<Channel>& channels, int64_t machines, int64_t memory_channels, int64_t ports) {
        first_ = channels.data();
        put_by_.resize(channels.size());
        for (size_t at = 0; at < channels.size(); at++) put_by_[at].assign(channels[at].stored, NOBODY);
        taken_by_.assign(channels.size(), {});
        reserved_by_.assign(channels.size(), NOBODY);
        of_.resize(machines);
        granted_.assign(memory_channels, {});
        beat_.assign(ports, {});
    }

    // -- what a firing does ------------------------------------------------------------------------------------------

    void puts(const Channel& channel) { put_by_[number(channel)].push_back(count_); }

    void takes(const Channel& channel, int64_t now) {
        int32_t at = number(channel);
        put_by_[at].pop_front();
        std::deque<Taken>& taken = taken_by_[at];
        while (taken.size() > 1 && taken[1].cycle + channel.hops < now) taken.pop_front();
        taken.push_back({count_, now});
    }

    void reserves(const Channel& channel) { reserved_by_[number(channel)] = count_; }

    void wants(const Channel& channel, Kind kind) {
        wanted_.push_back(number(channel));
        kind_ = kind;
    }

    // -- tries -------------------------------------------------------------------------------------------------------

    // `machine` is about to be tried: what it waited for has come now.
    void tries(const Machine& machine, int64_t now) {
        wanted_.clear();
        kind_ = CROWDED;
        if (machine.order >= 0 && of_[machine.order].waits) bind(of_[machine.order], now);
    }

    void tried(const Machine& machine, int outcome, int64_t now) {
        if (machine.order < 0) return;
        Last& last = of_[machine.order];
        if (outcome <= ENDS) {
            bool crowded = last.waits && last.kind == CROWDED;
            int32_t late = crowded ? int32_t(now - last.since) : 0;
            if (!last.waits) last.bound = {AFTER, last.event, 0};
            close(last, machine.order, now);
            const Bound& bound = last.bound;
            last.event = count_;
            int32_t rows = machine.sizes ? int32_t(machine.sizes->rows) : 0;
            add({now, bound.origin, machine.order, bound.number, late, rows, bound.kind, uint8_t(outcome)});
        } else if (outcome == FAULTS || outcome == FAILS) {
            close(last, machine.order, now);
        } else {
            if (last.waits && last.kind == kind_ && last.wanted == wanted_) return;
            bool waited = last.waits;
            close(last, machine.order, now);
            if (kind_ == CROWDED && !waited) last.bound = {AFTER, last.event, 0};
            last.waits = true, last.since = now, last.kind = kind_, last.wanted = wanted_, last.awaited = NOBODY;
            last.activity = outcome == STARVES ? STARVED : BLOCKED;
        }
    }

    // -- beats -------------------------------------------------------------------------------------------------------

    // The memory grants a beat of `port` in its channel `of`, which has one every `interval` cycles.
    void grants(int32_t port, const Channel& asks, int64_t of, int64_t interval, int64_t now) {
        beat_from_ = {AFTER, NOBODY, 0};
        int64_t from = 0;
        auto edge = [&](Kind kind, int32_t origin, int64_t cycle) {
            if (origin == NOBODY || (beat_from_.origin != NOBODY && cycle <= from)) return;
            beat_from_ = {kind, origin, 0}, from = cycle;
        };
        edge(BEATS, beat_[port].event, beat_[port].cycle + 1);
        edge(ARRIVAL, put_by_[number(asks)].front(), asks.head->since);
        edge(BANDWIDTH, granted_[of].event, granted_[of].cycle + interval);
        late_ = int32_t(now - from);
        beat_[port] = granted_[of] = {count_, now};
    }

    void granted(int32_t machine, int64_t address, int64_t latency, int64_t now) {
        add({now, beat_from_.origin, machine, uint32_t(address), late_, int32_t(latency), beat_from_.kind, 0});
    }

    // -- the end -----------------------------------------------------------------------------------------------------

    // The waits that last until the cycle `end`.
    void finish(int64_t end) {
        for (int32_t at = 0; at < int32_t(of_.size()); at++) {
            if (!of_[at].waits) continue;
            bind(of_[at], end);
            close(of_[at], at, end);
        }
    }

   private:
    static constexpr int32_t PART = 1 << 18;

    struct Bound {
        uint8_t kind;
        int32_t origin;
        uint32_t number;
    };

    // What is known of a machine: its last firing, what it waits for, and what bound it when that came.
    struct Last {
        int32_t event = NOBODY, awaited = NOBODY;
        bool waits = false;
        uint8_t activity = STARVED, kind = AFTER;
        int64_t since = 0;
        std::vector<int32_t> wanted;
        Bound bound = {AFTER, NOBODY, 0};
    };

    // An event that took a token. Of each channel those are kept whose slots are on their way back, and the one before.
    struct Taken {
        int32_t event;
        int64_t cycle;
    };

    // The last event that took a token from `channel` whose slot is back before the cycle `now`.
    int32_t took(int32_t channel, int64_t now) const {
        const auto& taken = taken_by_[channel];
        auto is_back = [&](const Taken& each) { return each.cycle + first_[channel].hops < now; };
        auto found = std::find_if(taken.rbegin(), taken.rend(), is_back);
        return found == taken.rend() ? NOBODY : found->event;
    }

    struct Beat {
        int32_t event = NOBODY;
        int64_t cycle = 0;
    };

    const Channel* first_ = nullptr;
    std::vector<std::deque<int32_t>> put_by_;
    std::vector<std::deque<Taken>> taken_by_;
    std::vector<int32_t> reserved_by_, wanted_;
    std::vector<Last> of_;
    std::vector<Beat> granted_, beat_;
    Bound beat_from_ = {AFTER, NOBODY, 0};
    int32_t count_ = 0, late_ = 0;
    Kind kind_ = CROWDED;

    int32_t number(const Channel& channel) const { return int32_t(&channel - first_); }

    void add(const Fired& event) {
        if (count_ % PART == 0) fired.emplace_back().reserve(PART);
        fired.back().push_back(event);
        count_++;
    }

    void bind(Last& last, int64_t now) {
        if (last.kind == CROWDED) return;
        auto has_come = [&](int32_t each) { return first_[each].readable(now); };
        auto found = last.kind == ARRIVAL ? std::find_if(last.wanted.begin(), last.wanted.end(), has_come) : last.wanted.begin();
        last.awaited = found == last.wanted.end() ? last.wanted[0] : *found;
        const auto& puts = put_by_[last.awaited];
        int32_t origin = last.kind == FULL      ? took(last.awaited, now)
                         : last.kind == SENDING ? reserved_by_[last.awaited]
                         : puts.empty()         ? NOBODY
                                                : puts.front();
        last.bound = {last.kind, origin, uint32_t(last.awaited)};
    }

    void close(Last& last, int32_t machine, int64_t now) {
        if (last.waits && last.since < now) waits.push_back({last.since, now, machine, last.awaited, last.activity});
        last.waits = false;
    }
};
