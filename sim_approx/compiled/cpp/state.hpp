// The state of a run as numbers, of which each says how it may go on: a phase repeats if all of them agree.
#pragma once
#include <utility>

#include "parts.hpp"

// Goes over a state, in one of three ways: keeps it; compares it with one that was kept, at the cycle `begin`, of which it
// is to be a repetition `period` cycles later; or moves it on by so many `times` what changed between the two. Whatever a
// part of a run tells here is linear from one repetition to the next one.
class State {
   public:
    enum Way { KEEP, MATCH, MOVE };

    State(Way way, std::vector<int64_t>& kept) : way_(way), kept_(kept) {}
    State(Way way, std::vector<int64_t>& kept, int64_t begin, int64_t period, int64_t times)
        : way_(way), kept_(kept), begin_(begin), period_(period), times_(times) {}

    bool fits = true;
    int64_t grows = 0;      // by so many numbers in a repetition
    int64_t addresses = 1;  // which are that far apart, or a multiple of it, take the same way through the memory

    bool matches() const { return way_ == MATCH; }
    bool moves() const { return way_ == MOVE; }
    size_t read() const { return at_; }

    // What has to be the same.
    void same(int64_t word) {
        if (way_ == KEEP) kept_.push_back(word);
        else fits &= kept_[at_++] == word;
    }

    // As for all that `save` writes.
    template <typename Save>
    void all_same(Save save) {
        if (way_ == KEEP) return save(kept_);
        words_.clear();
        save(words_);
        for (int64_t word : words_) same(word);
    }

    // What only counts; nothing that happens depends on it. Returns how much more it is.
    template <typename Word>
    int64_t count(Word& word) {
        if (way_ == KEEP) {
            kept_.push_back(word);
            return 0;
        }
        int64_t more = int64_t(word) - kept_[at_++];
        if (way_ == MOVE) word += Word(times_ * more);
        return more;
    }

    // An address in memory, `times` that, which takes the same way through it.
    void address(int64_t& word, int64_t times = 1) { fits &= count(word) % (addresses * times) == 0 || way_ != MATCH; }

    // A cycle: as far from the present one as before, or one in the past that stands.
    void time(int64_t& cycle) {
        int64_t before = cycle, later = count(cycle);
        fits &= way_ != MATCH || later == period_ || (later == 0 && before < begin_);
    }

    // A cycle that has to move if `moves`, and else to stand.
    void time(int64_t& cycle, bool moves) {
        int64_t before = cycle, later = count(cycle);
        fits &= way_ != MATCH || (moves ? later == period_ : later == 0 && before < begin_);
    }

    // The cycle in which something is due, or NEVER.
    void due(int64_t& cycle) {
        bool never = cycle == NEVER;
        int64_t later = count(cycle);
        fits &= way_ != MATCH || later == (never ? 0 : period_);
    }

    // The numbers that were appended in a repetition.
    void appended(std::vector<int64_t>& all) {
        if (way_ == KEEP) {
            kept_.push_back(int64_t(all.size()));
            return;
        }
        int64_t from = kept_[at_++], end = int64_t(all.size());
        grows += end - from;
        if (way_ != MOVE) return;
        all.reserve(end + times_ * (end - from));
        for (int64_t time = 0; time < times_; time++)
            for (int64_t at = from; at < end; at++) all.push_back(all[at]);
    }

   private:
    Way way_;
    std::vector<int64_t>& kept_;
    size_t at_ = 0;
    int64_t begin_ = 0, period_ = 0, times_ = 0;
    std::vector<int64_t> words_;
};

inline void visit(State& state, Machine& machine, int64_t now) {
    bool waits = machine.free_from < now;  // until it is free nothing wakes it
    state.same(machine.activity + 4 * (machine.asleep && waits && machine.due != now));
    int64_t due = waits ? machine.due : machine.free_from, before = due;
    state.due(due);
    if (machine.due != NEVER) machine.due += due - before;
    if (!waits) machine.free_from += due - before;
    state.time(machine.since);
    state.count(machine.firings);
    for (int64_t& cycles : machine.cycles_in) state.count(cycles);
    std::vector<int64_t*> aside = machine.addresses();  // words that need not be the same
    for (int64_t* each : aside) state.address(*each);
    Counter counter = machine.counter();
    if (counter.counts()) {
        int64_t more = state.count(*counter.word);
        if (counter.apart(more) % state.addresses || (more && counter.tiles && counter.tiles->changes)) state.fits = false;
        aside.push_back(counter.word);
    }
    std::vector<int64_t> values;
    for (int64_t* each : aside) values.push_back(std::exchange(*each, 0));
    state.all_same([&](std::vector<int64_t>& words) { machine.save(words); });
    for (size_t at = 0; at < aside.size(); at++) *aside[at] = values[at];
}

// Returns whether anything entered or left it.
inline bool visit(State& state, Channel& channel, int64_t now) {
    channel.count(now);
    int64_t taken = channel.taken;
    bool moves = state.count(channel.taken) != 0;
    channel.known += channel.taken - taken;
    state.same(channel.stored);
    state.same(channel.counted());
    state.same(channel.reader_waits + 2 * channel.writer_waits);
    if (!state.fits) return moves;
    state.time(channel.freed_at, moves);
    state.time(channel.open_from);
    for (uint32_t place = 0; place < channel.stored; place++) {
        Slot& slot = channel.at(place);
        if (channel.addresses) state.address(slot.token.value, channel.addresses);
        else state.same(slot.token.value);
        state.same(int64_t(slot.token.control()) << 32 | slot.token.rank() << 1 | slot.token.there());
        state.time(slot.since, moves);
    }
    if (!channel.hops) return moves;
    int64_t coming = 0;  // slots on their way back: those that were freed last are the last ones
    while (coming < channel.size - channel.stored && channel.at(channel.size - 1 - coming).since - FREE > now) coming++;
    state.same(coming);
    for (int64_t place = channel.size - coming; place < channel.size && state.fits; place++)
        state.time(channel.at(place).since, true);
    return moves;
}

inline void visit(State& state, Banks& banks) {
    state.same(int64_t(banks.passing.size()));
    if (!state.fits) return;
    for (Banks::Pass& each : banks.passing) {
        state.same(each.who);
        state.same(each.bank);
        state.same(each.cycles);
        int64_t end = each.since + each.cycles;
        state.time(end);
        each.since = end - each.cycles;
    }
}

inline void visit(State& state, const Buffers& buffers) {
    state.same(int64_t(buffers.all.size()));
    for (const Buffer& each : buffers.all) {
        state.same(int64_t(each.entries.size()));
        state.same(int64_t(each.pages.size()));
        if (!state.fits) return;
        for (const Token& token : each.entries) {
            state.same(token.value);
            state.same(int64_t(token.control()) << 32 | token.rank() << 1 | token.there());
        }
        for (int64_t page : each.pages) state.same(page);
    }
}
