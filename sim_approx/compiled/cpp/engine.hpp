// The event engine: `sim_approx.engine` in C++. What is said there about time and order holds here.
#pragma once
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "jump.hpp"
#include "record.hpp"
#include "wheel.hpp"

// Asks the caller for the result of a function of values; sets *code to a fault, or to -1 for an error of his own.
using Callback = Value (*)(int64_t function, int64_t count, const Value* arguments, int64_t* code);

enum Function { NUMBER, MASK_PIECE, ONLY, ROWS, TARGETS, NEGATIVE };  // those that every caller has first
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

constexpr int CONTROL_BITS = 10;  // of the control of what is watched; above these stand the rows of a tile

// What machines did, and the beats of memory, in equal intervals of the first `cycles` of a run: `sim_approx.engine.record.Counted`.
struct Profile {
    int64_t width = 0, cycles = 0, intervals = 0;  // no width: nobody asks
    std::vector<int64_t> spent;  // by machine, activity and interval; then the beats that were read, and those written
    int64_t beats = 0;           // where these begin

    void begin(int64_t machines, int64_t of, int64_t up_to) {
        width = of, cycles = up_to;
        intervals = (cycles + width - 1) / width;
        beats = machines * 4 * intervals;
        spent.assign(beats + 2 * intervals, 0);
    }

    __attribute__((noinline)) void spend(const Machine& machine, int64_t until) {
        until = std::min(until, cycles);
        int64_t* row = &spent[(machine.order * 4 + machine.activity) * intervals];
        for (int64_t since = machine.since; since < until;) {
            int64_t interval = since / width, end = std::min(until, (interval + 1) * width);
            row[interval] += end - since;
            since = end;
        }
    }

    void grant(bool writes, int64_t now) {
        if (now < cycles) spent[beats + writes * intervals + now / width]++;
    }
};

// What the engine knows of the off-chip memory.
struct SharedMemory : Machine {
    int64_t last_read = 0, last_write = 0;

    virtual bool is_idle() const = 0;                  // nothing is to be served in the next cycle
    virtual bool is_writing(int64_t now) const = 0;    // a beat waits to be written behind this cycle
    virtual bool serve(Engine& e) = 0;                 // what it does in a cycle; returns whether any port waited
    virtual bool repeats() const = 0;                  // whether it can be in a state that it was in before
    virtual int64_t same_way() const = 0;              // so far apart are addresses in the same channel, at the same place of bursts
    virtual void visit_ports(State& state, int64_t now) = 0;  // goes over all that it knows
    virtual void each_port(const std::function<void(Machine&)>& action) = 0;
    virtual int64_t channel_count() const = 0;
    virtual int64_t port_count() const = 0;
    virtual void save_beats(std::vector<int64_t>& out) const = 0;  // of each port, that of the tile which is next
};

struct Engine {
    std::vector<std::unique_ptr<Machine>> machines;
    std::vector<Channel> channels;
    int64_t counted = 0;  // so many of the channels are those of the fabric, the others have no reader
    SharedMemory* memory = nullptr;
    std::vector<Banks> banks;
    std::vector<Buffers> buffers;
    std::vector<Tiles> tiles;
    std::vector<TokenNotes> token_notes;
    std::vector<IntNotes> int_notes;
    std::deque<Sizes> sizes;
    std::vector<std::unique_ptr<int64_t[]>> lists;
    Callback callback = nullptr;
    bool contended = false, jumps = false;

    int64_t now = 0, reached = 0, code = 0;  // what is before the cycle `reached` has happened
    int64_t jumped = 0;                      // cycles that were counted and not gone through
    std::vector<Met> faults;
    std::vector<Event> events, leaves, shown;  // what entered and left the channels that are logged; what showed in those watched
    std::unique_ptr<Recorder> recorder;  // who notes what firings wait for, if anybody does
    Ending ending;
    Profile profile;

    ~Engine() {
        for (int64_t at = 0; at < int64_t(channels.size()); at++) delete[] channels[at].ring;
    }

    // -- what rules ask ----------------------------------------------------------------------------------------------

    __attribute__((noinline)) Value call(int64_t function, const Value* arguments, int64_t count) {
        calls_++;
        jump_.tries += CALL;
        return callback(function, count, arguments, &code);
    }

    int64_t number(Value value) { return is_object(value) ? asked(NUMBER, value) : value; }

    // The value that an integer < 0 is; one that is not there is a value that nobody knows.
    Value negative(int64_t number) {
        if (number == INT64_MIN) return UNKNOWN;
        number = -number;
        return call(NEGATIVE, &number, 1);
    }

    int64_t targets(Value selector) {
        return is_object(selector) ? call(TARGETS, &selector, 1) : __builtin_popcountll(uint64_t(selector));
    }

    int64_t rows(Value tile) { return is_object(tile) ? asked(ROWS, tile) : tile; }

    // What stands for the result of a function of which only rows are wanted: `sim_approx.machine.RowsOf`.
    Value apply(int64_t function, const Value* arguments, int64_t count) {
        if (function >= 0) return call(function, arguments, count);
        int64_t packed = -2 - function, found = packed >> 32;
        for (int64_t at = 0; at < count && at < 32; at++)
            if (packed >> at & 1) found += rows(arguments[at]);
        return found;
    }

    Mask mask(Value value) {
        if (is_object(value)) return asked_mask(value);
        Mask mask;
        mask.words[0] = uint64_t(value);
        return mask;
    }

    __attribute__((noinline)) Mask asked_mask(Value value) {
        Mask mask;
        auto found = masks_.find(value);
        if (found != masks_.end()) return found->second;
        for (int64_t piece = 0; piece < 2 * MASK_WORDS && !code; piece++) {
            Value arguments[] = {value, piece};
            mask.words[piece / 2] |= uint64_t(call(MASK_PIECE, arguments, 2)) << piece % 2 * 32;
        }
        if (!code) masks_[value] = mask;
        return mask;
    }

    Value only(const Mask& mask) {
        const int64_t port = mask.lowest();
        return port < 62 ? Value(1) << port : call(ONLY, &port, 1);
    }

    Value tile(Tiles& from, int64_t address) {
        Value& tile = from.all[address];
        if (tile == Tiles::MISSING) tile = call(from.load, &address, 1);
        return tile;
    }

    // -- what rules do -----------------------------------------------------------------------------------------------

    __attribute__((always_inline)) void put(Channel* channel, const Token& token) { send(channel, token, now + channel->delay); }

    // As `put`, for a token that is seen from cycle `seen` on.
    __attribute__((always_inline)) void send(Channel* channel, const Token& token, int64_t seen) {
        if (__builtin_expect(channel->special, false)) return send_specially(channel, token.value, token.word, seen);
        channel->append(token, seen);
        if (channel->reader_waits) wake_reader(*channel, seen);
    }

    // A token with this `value` and `word`, where more is to be done: it stays in registers elsewhere.
    __attribute__((noinline)) void send_specially(Channel* channel, Value value, uint64_t word, int64_t seen) {
        Token token;
        token.value = value, token.word = word;
        int64_t lag = channel->lag;
        if (channel->sized) seen = paced(*channel, token, lag);
        if (channel->unread) return;
        log_sent(*channel, token, seen, lag);
        if (recorder) recorder->puts(*channel);
        channel->append(token, seen);
        if (channel->wide) channel->at(channel->stored - 1).lag = lag;
        if (channel->reader_waits) wake_reader(*channel, seen);
    }

    __attribute__((always_inline)) void take(Channel* channel) {
        if (__builtin_expect(channel->logged, false)) log_taken(*channel);
        channel->remove(now);
        if (channel->writer_waits) wake_writer(*channel);
    }

    // The firing is one with `tile`, or with one of so many rows.
    void resize(Machine& machine, Value tile) {
        if (machine.sizes) pace(machine, *machine.sizes, rows(tile));
        // A rule can not end any more when it says this.
        if (code) broken_ = true, code = 0;
    }

    void reserve(Channel* channel, int64_t cycles) {
        channel->open_from = now + cycles;
        if (recorder) recorder->reserves(*channel);
    }

    // `machine` sleeps until a token is seen in `channel`.
    __attribute__((noinline)) int starve(Machine& machine, Channel& channel) {
        machine.asleep = true;
        if (recorder) recorder->wants(channel, ARRIVAL);
        if (channel.stored) wake(machine, channel.head->since);
        else channel.reader_waits = true;
        return STARVES;
    }

    // `machine` sleeps until a token is seen in each of `channels` if that is known, or in the first one without.
    __attribute__((noinline)) int starve_of_all(Machine& machine, const Channels& channels) {
        Channel *first = nullptr, *last = nullptr;
        for (Channel* each : channels) {
            if (each->readable(now)) continue;
            if (!first) first = last = each;
            if (each->head->since > last->head->since) last = each;
        }
        return starve(machine, last->stored && !recorder ? *last : *first);
    }

    // `machine` sleeps until `channel` has space.
    __attribute__((noinline)) int block(Machine& machine, Channel& channel) {
        machine.asleep = true;
        if (recorder) recorder->wants(channel, channel.is_closed(now) ? SENDING : FULL);
        if (channel.is_closed(now)) wake(machine, channel.open_from);
        else if (int32_t(channel.stored) < channel.capacity) wake(machine, channel.back_at());
        else channel.writer_waits = true;
        return BLOCKS;
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

    // -- tries -------------------------------------------------------------------------------------------------------

    // Tries the machines from `at` on that have the same rule, up to `end`: what is said about all machines is there for
    // each rule, where it is one with it. Returns those behind them, or null where the run can not go on.
    template <int (*RULE)(Machine&, Engine&)>
    __attribute__((always_inline)) Machine** fire_alike(Machine** at, Machine** end) {
        auto fire = (*at)->fire;
        do {
            Machine& machine = **at;
            machine.due = NEVER;
            machine.asleep = false;
            if (__builtin_expect(bool(recorder), false)) recorder->tries(machine, now);
            int outcome = RULE(machine, *this);
            if (__builtin_expect(bool(recorder), false)) recorder->tried(machine, outcome, now);
            if (outcome <= COMPUTES) {
                machine.firings++;
                int64_t from = now + (outcome == COMPUTES ? machine.interval : 1);
                bool flows = machine.activity == BUSY && machine.free_from == now;
                if (flows && from == now + 1) machine.free_from = machine.due = from, next_.add(&machine);
                else go_on(machine, from, flows);
            } else if (outcome == STARVES || outcome == BLOCKS) {
                turn(machine, outcome == STARVES ? STARVED : BLOCKED);
            } else if (!settle(machine, outcome)) {
                return nullptr;
            }
        } while (++at != end && (*at)->fire == fire);
        return at;
    }

    // -- the run -----------------------------------------------------------------------------------------------------

    void start() {
        int64_t most = int64_t(machines.size()) + (memory ? memory->port_count() : 0);
        lists_.resize(2 * most);
        current_.all = &lists_[0], next_.all = &lists_[most];
        for (auto& each : machines) {
            if (recorder) each->first = &always;
            if (each.get() != memory) current_.add(each.get());
            open_ += each->ends_run;
        }
        if (!open_) last_ = -1, has_last_ = true;
        if (jumps && may_jump()) jump_.allow();
        if (recorder)
            recorder->start(channels, int64_t(machines.size()), memory ? memory->channel_count() : 0,
                            memory ? memory->port_count() : 0);
    }

    // All that the future depends on before the present cycle, and all that is counted.
    void visit(State& state) {
        if (memory) state.addresses = memory->same_way();
        state.same(open_);
        state.same(calls_);
        state.same(current_.count);
        for (auto& each : machines) {
            if (!state.fits) return;
            rest(*each, now);
            ::visit(state, *each, now);
        }
        std::vector<bool> moves(channels.size());
        if (memory) memory->visit_ports(state, now);
        for (size_t at = 0; at < channels.size() && state.fits; at++) moves[at] = ::visit(state, channels[at], now);
        for (Banks& each : banks) ::visit(state, each);
        for (const Buffers& each : buffers) ::visit(state, each);
        for (IntNotes& each : int_notes) state.appended(each.all);
        for (const Tiles& each : tiles) state.same(each.changes);
        if (state.matches() && state.fits) state.fits = keeps_ages(moves);
    }

    // `machine`, which is free since before cycle `until` and did not fire again, starves since then.
    void rest(Machine& machine, int64_t until) {
        if (machine.activity == BUSY && machine.free_from < until) change(machine, STARVED, machine.free_from);
    }

    // On to `cycle`, with the state that was moved there.
    void to(int64_t cycle) {
        jumped += cycle - now;
        now = reached = cycle;
        wheel_.clear();
        auto add = [&](Machine& each) {
            if (each.due != NEVER && each.due > now) wheel_.add(now, each);
        };
        for (auto& each : machines) add(*each);
        if (memory) memory->each_port(add);
    }

    // Goes on until the run is over, cycle `limit` comes, or `budget` tries or a jump were made. A call takes as long as
    // a thousand tries.
    Status run(int64_t limit, int64_t budget) {
        budget += jump_.tries;
        while (now < limit) {
            if (has_last_ && ending.status == GOES_ON && last_ < now) end(HAS_FINISHED, last_ + 1);
            jump_.tries += current_.count + 1;
            if (!has_last_ && jump_.look(*this, current_, limit)) return GOES_ON;
            if (!fire()) return BROKEN;
            if (!faults.empty() && ending.status != FAULT) end(FAULT, now), jump_.forbid();
            if (!open_ && !has_last_) has_last_ = is_settled();
            step();
            if (jump_.tries > budget) break;
        }
        reached = std::min(now, limit);
        if (now < limit) return GOES_ON;
        if (ending.status != GOES_ON) return ending.status;
        if (has_last_ && last_ < limit) end(HAS_FINISHED, last_ + 1);
        else if (!has_last_ && is_quiet(limit) && stopped() <= limit) end(DEADLOCK, stopped());
        else end(RUNAWAY, limit);
        return ending.status;
    }

   private:
    // What `function`, NUMBER or ROWS, says of an object, once.
    __attribute__((noinline)) int64_t asked(Function function, Value object) {
        auto& known = function == ROWS ? rows_ : numbers_;
        auto found = known.find(object);
        if (found != known.end()) return found->second;
        int64_t result = call(function, &object, 1);
        if (!code) known[object] = result;
        return result;
    }

    void change(Machine& machine, uint8_t other, int64_t from) {
        if (__builtin_expect(profile.width != 0, false)) profile.spend(machine, from);
        machine.change(other, from);
    }

    // The machine, which did something else or nothing before, is busy from this cycle on.
    void begins(Machine& machine) {
        if (__builtin_expect(profile.width != 0, false)) return turn(machine, BUSY);
        int64_t until = machine.activity == BUSY ? machine.free_from : now;
        machine.cycles_in[machine.activity] += until - machine.since;
        machine.cycles_in[STARVED] += now - until;
        machine.activity = BUSY;
        machine.since = now;
    }

    // The machine does `activity` from this cycle on.
    __attribute__((noinline)) void turn(Machine& machine, uint8_t activity) {
        rest(machine, now);
        if (machine.activity != activity) change(machine, activity, now);
    }

    Wheel wheel_;
    std::vector<Machine*> lists_;
    List<Machine*> current_, next_;  // to be tried in this cycle, and in the next one
    std::unordered_map<Value, int64_t> numbers_, rows_;
    std::unordered_map<Value, Mask> masks_;
    static constexpr int64_t CALL = 1000;
    int64_t open_ = 0, last_ = 0, calls_ = 0;
    bool has_last_ = false, broken_ = false;
    Jump jump_;

    // Whether nothing is kept of a run but numbers, no tile has a size of its own, and no values decide that only the
    // caller knows.
    bool may_jump() const {
        if (!sizes.empty()) return false;
        for (const Channel& each : channels)
            if (each.logged || each.watched) return false;
        for (const TokenNotes& each : token_notes)
            if (each.wanted) return false;
        for (const Tiles& each : tiles)
            if (each.load >= 0) return false;
        return !memory || memory->repeats();
    }

    // A token that stays where it is grows older than those that come and go: no machine may have to choose between them.
    bool keeps_ages(const std::vector<bool>& moves) const {
        for (const auto& each : machines) {
            if (!each->compares_ages()) continue;
            bool any_moves = false, any_stays = false;
            for (Channel* input : each->inputs) {
                bool moving = moves[input - channels.data()];
                any_moves |= moving;
                any_stays |= !moving && input->stored;
            }
            if (any_moves && any_stays) return false;
        }
        return true;
    }

    // What follows from a rarer `outcome` of a try; returns whether the run goes on.
    __attribute__((noinline)) bool settle(Machine& machine, int outcome) {
        if (outcome == ENDS) {
            machine.firings++;
            turn(machine, BUSY);
            change(machine, FINISHED, now + 1);
            open_ -= machine.ends_run;
        } else if (outcome == FAULTS) {
            rest(machine, now);
            machine.free_from = NEVER;
            faults.push_back({machine.order, code});
            code = 0;
        } else if (outcome == IS_CROWDED) {
            again(machine, now + 1);
            turn(machine, BLOCKED);
        }
        return outcome != FAILS;
    }

    bool fire() {
        if (contended)
            std::sort(current_.begin(), current_.end(), [](Machine* a, Machine* b) { return a->order < b->order; });
        for (Machine **at = current_.begin(), **end = current_.end(); at != end;)
            if (!(at = (*at)->fire(at, end, *this))) return false;
        if (memory) {
            bool busy = memory->serve(*this);
            memory->firings += busy;
            if (memory->activity != busy) change(*memory, busy ? BUSY : STARVED, now);
        }
        return !broken_;
    }

    void pace(Machine& machine, Sizes& sizes, int64_t rows) {
        if (rows == sizes.rows || code) return;
        auto [found, is_new] = sizes.known.try_emplace(sizes.rows = rows);
        auto ask = [&](int64_t part) {
            Value arguments[] = {rows, part};
            return call(sizes.function, arguments, 2);
        };
        if (is_new) found->second = {ask(0), ask(1), ask(2)};
        machine.interval = int32_t(found->second.interval);
        machine.latency = found->second.latency, machine.burst = found->second.burst;
    }

    // When `token` is seen in a sized channel: none comes before the words of the one before have passed. Its `lag` may
    // be longer than that of all.
    __attribute__((noinline)) int64_t paced(Channel& channel, const Token& token, int64_t& lag) {
        if (channel.tiles) resize(*channel.writer, token.has_value() ? token.value : 0);
        int64_t seen = std::max(channel.next_seen, now + channel.writer->latency + 1);
        channel.next_seen = seen + (channel.tiles && token.has_value() ? channel.writer->burst : 1);
        if (channel.wide && token.has_value()) lag += channel.gathers(rows(token.value));
        return seen + lag;
    }

    // `machine` fired, and may again from cycle `from` on. A try is spared where the token that it needs is not there by now,
    // but for machines that fire one time after the other: another token comes in this cycle as a rule.
    __attribute__((noinline)) void go_on(Machine& machine, int64_t from, bool flows) {
        if (!flows) begins(machine);
        machine.free_from = from;
        int64_t seen = machine.first->head->since;
        if (flows || seen <= from) return again(machine, from);
        machine.asleep = true;
        jump_.tries++;
        if (seen < FREE) again(machine, seen);
        else machine.first->reader_waits = true;
    }

    // Try `machine` in `cycle`, which is a later one.
    __attribute__((always_inline)) void again(Machine& machine, int64_t cycle) {
        machine.due = cycle;
        if (cycle == now + 1) next_.add(&machine);
        else wheel_.add(now, machine);
    }

    // Try `machine` in `cycle` at the latest, if it is asleep.
    void wake(Machine& machine, int64_t cycle) {
        cycle = std::max(cycle, machine.free_from);
        if (!machine.asleep || cycle >= machine.due) return;
        if (machine.due != NEVER) return wake_sooner(machine, cycle);
        again(machine, cycle);
    }

    __attribute__((noinline)) void wake_sooner(Machine& machine, int64_t cycle) {
        wheel_.remove(now, machine);
        again(machine, cycle);
    }

    __attribute__((noinline)) void wake_reader(Channel& channel, int64_t seen) {
        channel.reader_waits = false;
        wake(*channel.reader, seen);
    }

    __attribute__((noinline)) void wake_writer(Channel& channel) {
        channel.writer_waits = false;
        wake(*channel.writer, now + 1 + channel.hops);
    }

    void log_sent(const Channel& channel, const Token& token, int64_t seen, int64_t lag) {
        Event event{seen - lag - 1, channel.index, token.control()};
        if (channel.logged && channel.index >= 0) events.push_back(event);
        if (!channel.watched) return;
        int64_t counted = channel.counts_rows && token.has_value() ? rows(token.value) : 0;
        shown.push_back({seen - 1, channel.index, int32_t(counted << CONTROL_BITS | token.control())});
    }

    __attribute__((noinline)) void log_taken(const Channel& channel) {
        if (channel.index >= 0) leaves.push_back({now, channel.index, 0});
        if (recorder) recorder->takes(channel, now);
    }

    // On to the next cycle in which anything is to be tried, with the machines to be tried in it.
    void step() {
        bool goes_on = next_.count || (memory && !memory->is_idle());
        now = goes_on ? now + 1 : wheel_.next(now);
        current_.count = 0;
        std::swap(current_, next_);
        if (now != NEVER) wheel_.advance(now, [&](Machine* machine) { current_.add(machine); });
    }

    // Whether the run ends, and then with which cycle.
    bool is_settled() {
        if (memory && memory->is_writing(now)) return false;
        last_ = memory ? std::max(now, memory->last_write) : now;
        return true;
    }

    // Whether all that was to happen has happened before the cycle `limit`.
    bool is_quiet(int64_t limit) const {
        for (const auto& each : machines)
            if (each->due != NEVER || (each->asleep && each->free_from >= limit)) return false;
        for (const Channel& each : channels) {
            if (each.last_change() >= limit) return false;
            // A slot that comes back wakes who sleeps.
            if (each.hops && each.taken && each.freed_at + each.hops + each.writer->asleep >= limit) return false;
        }
        return !memory || memory->is_idle();
    }

    int64_t stopped() const {
        bool any = false;
        int64_t last = 0;
        auto moved = [&](int64_t cycle) { last = any ? std::max(last, cycle) : cycle, any = true; };
        for (const Channel& each : channels)
            if (each.index >= 0) moved(each.settled());
        if (memory) moved(memory->last_read), moved(memory->last_write + 1);
        return last;
    }

    void end(Status status, int64_t cycles) {
        ending = {status, cycles, {}, {}};
        for (auto& machine : machines) {
            rest(*machine, cycles);
            int64_t counts[4];
            std::copy_n(machine->cycles_in, 4, counts);
            int64_t rest = cycles - machine->since;
            counts[machine->activity] += std::max<int64_t>(rest, 0);
            counts[BUSY] += std::min<int64_t>(rest, 0);
            ending.machines.insert(ending.machines.end(), counts, counts + 4);
            ending.machines.push_back(machine->firings);
        }
        for (int64_t at = 0; at < counted; at++) {
            Channel& channel = channels[at];
            channel.count(status == DEADLOCK ? NEVER : cycles);
            ending.channels.push_back(channel.entered());
            ending.channels.push_back(channel.peak);
        }
    }
};
