// The event engine: `sim_approx.engine` in C++. What is said there about time and order holds here.
#pragma once
#include <algorithm>
#include <unordered_map>

#include "parts.hpp"
#include "wheel.hpp"

// Asks the caller for the result of a function of values; sets *code to a fault, or to -1 for an error of his own.
using Callback = Value (*)(int64_t function, int64_t count, const Value* arguments, int64_t* code);

enum Function { NUMBER, MASK_PIECE, ONLY };  // those that every caller has first
enum Status { GOES_ON, HAS_FINISHED, DEADLOCK, RUNAWAY, FAULT, BROKEN };

struct Ending {
    Status status = GOES_ON;
    int64_t cycles = 0;
    std::vector<int64_t> machines, channels;  // four activities and firings each; entered and peak each
};

struct Met {
    int64_t machine, code;
};

struct Event {
    int64_t cycle;
    int32_t channel, control;
};

struct Memory;
bool is_writing(const Memory&);
int64_t last_write(const Memory&);
int64_t last_read(const Memory&);

struct Engine {
    std::vector<std::unique_ptr<Machine>> machines;
    std::vector<Channel> channels;
    int64_t counted = 0;  // so many of the channels are those of the fabric, the others have no reader
    Memory* memory = nullptr;
    std::vector<Banks> banks;
    std::vector<Buffers> buffers;
    std::vector<Tiles> tiles;
    std::vector<TokenNotes> token_notes;
    std::vector<IntNotes> int_notes;
    std::vector<std::unique_ptr<int64_t[]>> lists;
    Callback callback = nullptr;
    bool contended = false;

    int64_t now = 0, code = 0;
    std::vector<Met> faults;
    std::vector<Event> events, leaves, seen;  // what entered and left the channels that are logged; what showed in those watched
    Ending ending;

    ~Engine() {
        for (int64_t at = 0; at < int64_t(channels.size()); at++) delete[] channels[at].ring;
    }

    // -- what rules ask ----------------------------------------------------------------------------------------------

    Value call(int64_t function, const Value* arguments, int64_t count) {
        return callback(function, count, arguments, &code);
    }

    int64_t number(Value value) {
        if (!is_object(value)) return value;
        auto found = numbers_.find(value);
        if (found != numbers_.end()) return found->second;
        int64_t result = call(NUMBER, &value, 1);
        if (!code) numbers_[value] = result;
        return result;
    }

    Mask mask(Value value) {
        Mask mask;
        if (!is_object(value)) {
            mask.words[0] = uint64_t(value);
            return mask;
        }
        auto found = masks_.find(value);
        if (found != masks_.end()) return found->second;
        for (int64_t piece = 0; piece < 2 * MASK_WORDS && !code; piece++) {
            Value arguments[] = {value, piece};
            mask.words[piece / 2] |= uint64_t(call(MASK_PIECE, arguments, 2)) << piece % 2 * 32;
        }
        if (!code) masks_[value] = mask;
        return mask;
    }

    Value only(int64_t port) { return port < 62 ? Value(1) << port : call(ONLY, &port, 1); }

    Value tile(Tiles& from, int64_t address) {
        Value& tile = from.all[address];
        if (tile == Tiles::MISSING) tile = call(from.load, &address, 1);
        return tile;
    }

    // -- what rules do -----------------------------------------------------------------------------------------------

    __attribute__((always_inline)) void put(Channel* channel, const Token& token) {
        if (channel->unread) return;
        channel->space--;
        channel->append(token);
        if (channel->latency) wheel_.add(ARRIVE, now, now + channel->latency, channel);
        else entering_.push_back(channel);
    }

    __attribute__((always_inline)) void take(Channel* channel) {
        channel->head = (channel->head + 1) & channel->mask;
        channel->shown--;
        channel->stored--;
        channel->taken++;
        freed_.push_back(channel);
    }

    void reserve(Channel* channel, int64_t cycles) {
        if (channel->unread) return;
        channel->closed = true;
        wheel_.add(OPEN, now, now + cycles, channel);
    }

    bool crowded(const Banks* banks, int64_t who, int64_t place) const {
        for (const Banks::Pass& each : banks->passing)
            if (each.who != who && now < each.since + each.cycles &&
                remainder(each.bank + now - each.since - place, banks->count) == 0)
                return true;
        return false;
    }

    void pass_through(Banks* banks, int64_t who, int64_t place, int64_t cycles) {
        for (Banks::Pass& each : banks->passing)
            if (each.who == who) {
                each = {who, place, now, cycles};
                return;
            }
        banks->passing.push_back({who, place, now, cycles});
    }

    // -- the run -----------------------------------------------------------------------------------------------------

    void start() {
        for (auto& each : machines) {
            current_.push_back(each.get());
            open_ += each->ends_run;
        }
        if (!open_) last_ = -1, has_last_ = true;
    }

    // Goes on until the run is over, cycle `limit` comes, or `budget` tries were made.
    Status run(int64_t limit, int64_t budget) {
        while (now != NEVER && now < limit) {
            if (ending.status == GOES_ON && has_last_ && last_ < now) end(HAS_FINISHED, last_ + 1);
            budget -= int64_t(current_.size()) + 1;
            if (!fire()) return BROKEN;
            if (faults.size() && ending.status != FAULT) end(FAULT, now);
            free();
            enter();
            if (!has_last_ && !open_) has_last_ = settle();
            step();
            if (budget < 0) return GOES_ON;
        }
        if (ending.status != GOES_ON) return ending.status;
        if (has_last_ && last_ < limit) end(HAS_FINISHED, last_ + 1);
        else if (!has_last_ && now == NEVER && stopped() <= limit) end(DEADLOCK, stopped());
        else end(RUNAWAY, limit);
        return ending.status;
    }

   private:
    enum Lane { WAKE, OPEN, ARRIVE, LANES };

    Wheel<LANES> wheel_;
    std::vector<Machine*> current_, awake_;
    std::vector<Channel*> entering_, freed_, showing_, later_;
    std::unordered_map<Value, int64_t> numbers_;
    std::unordered_map<Value, Mask> masks_;
    int64_t open_ = 0, last_ = 0;
    bool has_last_ = false;

    bool fire() {
        if (contended)
            std::sort(current_.begin(), current_.end(), [](Machine* a, Machine* b) { return a->order < b->order; });
        awake_.clear();
        for (Machine* machine : current_) {
            int outcome = machine->rule(*machine, *this);
            if (outcome <= ENDS) {
                machine->firings++;
                if (machine->activity != BUSY) machine->change(BUSY, now);
                if (outcome == FIRES || (outcome == COMPUTES && machine->interval == 1)) {
                    awake_.push_back(machine);
                } else if (outcome == COMPUTES) {
                    wheel_.add(WAKE, now, now + machine->interval, machine);
                } else {
                    machine->change(FINISHED, now + 1);
                    open_ -= machine->ends_run;
                }
            } else if (outcome == STARVES) {
                machine->asleep = true;
                if (machine->activity != STARVED) machine->change(STARVED, now);
            } else if (outcome == FAULTS) {
                faults.push_back({machine->order, code});
                code = 0;
            } else if (outcome == FAILS) {
                return false;
            } else {
                if (outcome == BLOCKS) machine->asleep = true;
                else awake_.push_back(machine);
                if (machine->activity != BLOCKED) machine->change(BLOCKED, now);
            }
        }
        return true;
    }

    void wake(Machine* machine) {
        if (machine->asleep) {
            machine->asleep = false;
            awake_.push_back(machine);
        }
    }

    void wake_writer(Channel* channel) {
        if (channel->writer_waits) {
            channel->writer_waits = false;
            wake(channel->writer);
        }
    }

    void free() {
        for (Channel* channel : freed_) {
            if (channel->logged) leaves.push_back({now, channel->index, 0});
            channel->available = now + 1;
            channel->space++;
            wake_writer(channel);
        }
        freed_.clear();
    }

    void enter() {
        for (Channel* channel : later_) {
            channel->coming--;
            showing_.push_back(channel);
        }
        later_.clear();
        wheel_.happen(ARRIVE, now, [&](void* channel) { entering_.push_back(static_cast<Channel*>(channel)); });
        for (Channel* channel : showing_) show(channel);
        showing_.clear();
        for (Channel* channel : entering_) {
            if (channel->logged) events.push_back({now, channel->index, next(*channel).control()});
            channel->entered_last = now;
            if (channel->deep) {
                channel->coming++;
                channel->peak = std::max<int64_t>(channel->peak, channel->shown + channel->coming);
                later_.push_back(channel);
            } else {
                show(channel);
            }
        }
        entering_.clear();
    }

    // The token of `channel` that enters now.
    static const Token& next(const Channel& channel) { return channel.at(channel.shown + channel.coming); }

    void show(Channel* channel) {
        if (channel->watched) seen.push_back({now, channel->index, channel->at(channel->shown).control()});
        if (!channel->shown) {
            channel->available = now + 1;
            if (channel->reader_waits) {
                channel->reader_waits = false;
                wake(channel->reader);
            }
        }
        channel->shown++;
        if (channel->shown > channel->peak) channel->peak = channel->shown;
    }

    // On to the next cycle in which anything is to happen, with the machines to be tried in it.
    void step() {
        wheel_.pass(now);
        now = awake_.empty() && later_.empty() ? wheel_.next(now) : now + 1;
        if (now == NEVER) return;
        wheel_.advance(now);
        wheel_.happen(WAKE, now, [&](void* machine) { awake_.push_back(static_cast<Machine*>(machine)); });
        wheel_.happen(OPEN, now, [&](void* what) {
            Channel* channel = static_cast<Channel*>(what);
            channel->closed = false;
            wake_writer(channel);
        });
        current_.swap(awake_);
    }

    // Whether the run ends, and then with which cycle.
    bool settle() {
        if (memory && is_writing(*memory)) return false;
        last_ = memory ? std::max(now, last_write(*memory)) : now;
        return true;
    }

    int64_t stopped() const {
        bool any = false;
        int64_t last = 0;
        auto moved = [&](int64_t cycle) { last = any ? std::max(last, cycle) : cycle, any = true; };
        for (const Channel& each : channels)
            if (each.index >= 0) moved(std::max(each.available, each.entered_last + 1));
        if (memory) moved(last_read(*memory)), moved(last_write(*memory) + 1);
        return last;
    }

    void end(Status status, int64_t cycles) {
        ending = {status, cycles, {}, {}};
        for (auto& machine : machines) {
            int64_t counts[4];
            std::copy_n(machine->cycles_in, 4, counts);
            int64_t rest = cycles - machine->since;
            counts[machine->activity] += std::max<int64_t>(rest, 0);
            counts[BUSY] += std::min<int64_t>(rest, 0);
            ending.machines.insert(ending.machines.end(), counts, counts + 4);
            ending.machines.push_back(machine->firings);
        }
        for (int64_t at = 0; at < counted; at++) {
            ending.channels.push_back(channels[at].entered());
            ending.channels.push_back(channels[at].peak);
        }
    }
};
