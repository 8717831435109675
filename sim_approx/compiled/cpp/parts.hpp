// What an engine is made of: machines, the channels between them, and what several machines draw on.
#pragma once
#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tokens.hpp"

struct Engine;
struct Machine;

enum Activity : uint8_t { STARVED, BUSY, BLOCKED, FINISHED };
enum Outcome { FIRES, COMPUTES, ENDS, STARVES, BLOCKS, IS_CROWDED, FAULTS, FAILS };

constexpr int64_t NEVER = INT64_MAX, FREE = int64_t(1) << 62;

// A slot of a channel: a token, and the first cycle in which it is seen; without one, FREE more than the first cycle in
// which the next one may be put there.
struct alignas(32) Slot {
    Token token;
    int64_t since = FREE;
    int32_t step = 0;  // bytes to the slot behind it
    int32_t lag = 0;   // in channels where tokens have one of their own

    Slot* next() { return reinterpret_cast<Slot*>(reinterpret_cast<char*>(this) + step); }
};

// A FIFO, as `sim_approx.machine.Channel` describes it. A token is in the ring from the firing that sent it on. That it
// is seen later, and a slot that is freed too, is no event here: both are cycles, with which the present one is compared.
// What every firing touches comes first, and fits into a cache line. The ring grows up to the capacity; the slot behind
// the last token is the one that was freed first.
struct alignas(64) Channel {
    Slot *head, *tail;  // the token in front, and where the next one is put
    int64_t taken = 0, freed_at = -1, open_from = 0;
    uint32_t stored = 0, peak = 0;
    int32_t capacity = 0, delay = 1;  // the last one: cycles from a firing to its token being seen
    uint16_t hops = 0;                // cycles that a freed slot is on its way back
    bool reader_waits = false, writer_waits = false;
    bool unread = false, watched = false, logged = false, special = false;  // the last one: any of the three, or sized
    bool counts_rows = false;  // those of its tiles are shown to who watches it
    bool sized = false, tiles = false;  // sized: its writer's pace follows the rows of those that are tiles

    Slot* ring;
    int64_t size = 0, known = 0;  // of all tokens that came, so many are known to have entered
    int32_t lag = 0;   // so many cycles later than it could be a token is seen
    int64_t row_bits = 0, narrow = 0, wide = 0;  // and tiles of dynamic size besides: `step.lowering.links.Gathering`
    int64_t next_seen = 0;  // of a sized one: what is sent next is seen when the words of the token before have passed
    Machine *reader = nullptr, *writer = nullptr;
    int32_t index = -1;
    int64_t addresses = 0;  // what is in it are addresses in memory, times that; 0: it is not

    Channel() { lay(1); }

    const Token& front() const { return head->token; }
    Slot& at(int64_t place) const {
        place += head - ring;
        return ring[place < size ? place : place - size];
    }
    bool readable(int64_t now) const { return head->since <= now; }
    int64_t space() const { return capacity - int64_t(stored); }
    bool is_closed(int64_t now) const { return now < open_from; }

    // Whether a token may be put in cycle `now`.
    bool has_room(int64_t now) {
        return !is_closed(now) && (__builtin_expect(uint64_t(back_at()) <= uint64_t(now), true) || grows());
    }

    // Of those stored, how many are known to have entered.
    uint32_t counted() const { return uint32_t(std::max(known - taken, int64_t(0))); }

    // The first cycle behind the one in which the token in `slot` enters, and is counted; it may be shown later.
    int64_t entry(const Slot& slot) const { return slot.since - (wide ? slot.lag : lag); }

    // Cycles that a tile with so many `rows` waits for its words.
    int64_t gathers(int64_t rows) const {
        int64_t bits = rows * row_bits;
        return (bits + narrow - 1) / narrow - (bits + wide - 1) / wide;
    }

    // The cycle since which the token in front has been there for the reader.
    int64_t available() const { return std::max(freed_at + 1, head->since); }

    // The first cycle behind the last one in which a token entered or left.
    int64_t settled() const { return std::max(freed_at + 1, stored ? entry(at(stored - 1)) : 0); }

    // The cycle from which on the slot that was freed first may be claimed, where none is new.
    int64_t back_at() const { return tail->since - FREE; }

    // Of those stored, how many are seen in cycle `now`.
    uint32_t seen(int64_t now) const {
        uint32_t count = 0;
        while (count < stored && at(count).since <= now) count++;
        return count;
    }

    // The last cycle in which anything happens here.
    int64_t last_change() const { return std::max(stored ? at(stored - 1).since - 1 : -1, open_from); }

    // Tokens that entered, as far as they are counted.
    int64_t entered() const { return std::max(known, taken); }

    // Count the tokens that entered before the cycle `now`.
    __attribute__((noinline)) void count(int64_t now) {
        uint32_t entered = counted();
        if (entered == stored || entry(at(entered)) > now) return;
        while (++entered < stored && entry(at(entered)) <= now) {}
        known = taken + entered;
        peak = std::max(peak, entered);
    }

    // Of more tokens than there were at once, count those that entered if these are more, too.
    __attribute__((noinline)) void rise(int64_t now) {
        if (entry(at(peak)) <= now) count(now);
    }

    __attribute__((always_inline)) void append(const Token& token, int64_t seen) {
        if (__builtin_expect(tail->since < FREE, false)) grow();
        tail->token = token, tail->since = seen;
        tail = tail->next();
        stored++;
    }

    __attribute__((always_inline)) void remove(int64_t now) {
        if (stored > peak) rise(now);
        head->since = FREE + now + 1 + hops;
        head = head->next();
        taken++;
        stored--;
        freed_at = now;
    }

    __attribute__((noinline)) bool grows() {
        if (size >= capacity) return false;
        grow();
        return true;
    }

    // More slots, before those that are free.
    __attribute__((noinline)) void grow() {
        Slot *before = ring, *each = head;
        int64_t slots = size, tokens = stored;
        lay(std::min(2 * size, std::max(size + 1, int64_t(capacity))));
        auto move = [&](Slot& to) {
            to.token = each->token, to.since = each->since, to.lag = each->lag;
            each = each->next();
        };
        for (int64_t place = 0; place < tokens; place++) move(ring[place]);
        for (int64_t free = slots - tokens; free > 0; free--) move(ring[size - free]);
        tail = &ring[tokens];
        delete[] before;
    }

   private:
    void lay(int64_t slots) {
        head = tail = ring = new Slot[size = slots];
        for (int64_t place = 0; place < size; place++) ring[place].step = int32_t(sizeof(Slot));
        ring[size - 1].step -= int32_t(size * sizeof(Slot));
    }
};

// Where a token is in every cycle.
static struct Always : Channel {
    Always() { append(Token(), 0); }
} always;

struct Channels {
    Channel** all = nullptr;
    int64_t count = 0;

    Channel* operator[](int64_t at) const { return all[at < 0 ? at + count : at]; }
    Channel** begin() const { return all; }
    Channel** end() const { return all + count; }
    Channels but_last() const { return {all, count - 1}; }
};

// The same channels, of which the compiler knows the number if it is not ANY.
constexpr int ANY = -1;
template <int COUNT>
inline Channels known(const Channels& channels) {
    return {channels.all, COUNT == ANY ? channels.count : COUNT};
}

template <typename Item>
struct List {
    Item* all = nullptr;
    int64_t count = 0;

    const Item& operator[](int64_t at) const { return all[at < 0 ? at + count : at]; }
    Item* begin() const { return all; }
    Item* end() const { return all + count; }
    void add(const Item& item) { all[count++] = item; }
};

struct Pair {
    int64_t first, second;
};

using Pairs = List<Pair>;
using Tokens = List<Token>;

// A list, or what `step.language.loops` calculates: entries of a Walk, or of Stops. Extents and strides are in order.
struct Ints {
    enum Kind { LISTED, WALK, STOPS } kind = LISTED;
    int64_t count = 0;
    const int64_t *all = nullptr, *extents = nullptr, *strides = nullptr;
    int64_t loops = 0, offset = 0, most = 0;

    int64_t operator[](int64_t at) const {
        if (at < 0) at += count;
        if (__builtin_expect(kind == LISTED, 1)) return all[at];
        return kind == WALK ? walk(at) : stops(at);
    }

    int64_t walk(int64_t at) const {
        int64_t found = offset;
        for (int64_t loop = loops - 1; loop >= 0; loop--) {
            found += at % extents[loop] * strides[loop];
            at /= extents[loop];
        }
        return found;
    }

    // From `at` on, how many entries, up to `wanted`, are `by` more than those of `back` places before.
    int64_t repeats(int64_t at, int64_t back, int64_t by, int64_t wanted) const {
        int64_t limit = std::min(wanted, count - at), found = 0;
        if (limit <= 0) return limit;
        if (kind == STOPS && by == 0) return std::min(limit, same_stops(at, back));
        if (kind == WALK) {
            int64_t inside = 1;
            for (int64_t loop = 1; loop < loops; loop++) inside *= extents[loop];
            if (back % inside == 0) return back / inside * strides[0] == by ? limit : 0;
        }
        while (found < limit && (*this)[at + found] == (*this)[at + found - back] + by) found++;
        return found;
    }

    int64_t same_stops(int64_t at, int64_t back) const {
        int64_t block = 1;
        for (int64_t loop = 1; loop <= most; loop++) {
            block *= extents[loops - loop];
            if (back % block == 0) continue;
            auto until = [&](int64_t place) { return (place + block) / block * block - 1 - place; };
            return std::min(until(at), until(at - back));
        }
        return NEVER;
    }

    int64_t stops(int64_t at) const {
        int64_t found = 0;
        for (at++; found < most && at % extents[loops - 1 - found] == 0; found++) at /= extents[loops - 1 - found];
        return found;
    }
};

// The tokens that a source plays: all of them, or the stops of those before Done, and their values if these are known.
struct Stream {
    Tokens listed;
    Ints stops;
    const Value* values = nullptr;

    Token operator[](int64_t at) const {
        if (listed.count) return listed[at];
        if (at == stops.count) return Token(NOTHING, 0, 0, true);
        return Token(values ? values[at] : UNKNOWN, stops[at]);
    }

    // As for `Ints`, of tokens; Done is like no other.
    int64_t repeats(int64_t at, int64_t back, int64_t wanted) const {
        int64_t found = 0, limit;
        if (listed.count) {
            limit = std::min(wanted, listed.count - at);
            auto equal = [&](const Token& a, const Token& b) { return a.value == b.value && a.aligned(b); };
            while (found < limit && equal(listed[at + found], listed[at + found - back])) found++;
            return found;
        }
        limit = stops.repeats(at, back, 0, wanted);
        if (!values) return limit;
        while (found < limit && values[at + found] == values[at + found - back]) found++;
        return found;
    }
};

// The tiles of a tensor; what was not asked for yet is MISSING, and `load` the function that has it.
struct Tiles {
    static constexpr Value MISSING = NOTHING;
    std::vector<Value> all;
    int64_t load;
    int64_t changes = 0;
};

// A word of a machine that counts up, and decides nothing but which entries are next.
struct Counter {
    int64_t* word = nullptr;
    const Stream* stream = nullptr;  // the tokens
    const Ints* entries = nullptr;   // numbers that decide
    const Ints* sent = nullptr;      // the addresses that are sent; without them the word itself is one
    const Channel* to = nullptr;     // into this channel
    const Tiles* tiles = nullptr;    // the values

    bool counts() const { return word && (!to || to->addresses); }
    bool ends() const { return stream || entries || sent; }

    // How much the next address is more than that of `back` places before.
    int64_t apart(int64_t back) const {
        if (!to || !back) return 0;
        if (!sent) return back;
        return *word < sent->count ? (*sent)[*word] - (*sent)[*word - back] : 0;
    }

    // From the next one on, how many entries, up to `wanted`, are those of `back` places before, addresses `apart`.
    int64_t repeats(int64_t back, int64_t wanted) const {
        if (stream) wanted = stream->repeats(*word, back, wanted);
        if (entries) wanted = entries->repeats(*word, back, 0, wanted);
        if (sent) wanted = sent->repeats(*word, back, apart(back), wanted);
        return wanted;
    }
};

// What a firing with a tile takes, by its rows.
struct Pace {
    int64_t interval = 1, latency = 0, burst = 1;
};

// The paces that are known, the function that has them, and the rows of the present one.
struct Sizes {
    int64_t function, rows = -1;
    std::unordered_map<int64_t, Pace> known;
};

// What every try touches comes first, in two cache lines.
struct alignas(64) Machine {
    Machine** (*fire)(Machine**, Machine**, Engine&) = nullptr;  // `Engine::fire_alike`
    int64_t due = 0;            // the cycle in which it is tried next, if that is known
    int64_t free_from = 0;      // the first cycle in which it may fire again
    Channel* first = &always;   // without a token in it every try starves
    int64_t firings = 0, since = 0;
    int32_t interval = 1;
    uint8_t activity = STARVED;
    bool asleep = false, ends_run = false;  // asleep: it could not fire, and may be woken before it is due
    Channels inputs, outputs;
    int64_t cycles_in[4] = {};
    Machine* next = nullptr;  // that is due in the same cycle
    int32_t order = 0;
    int64_t latency = 0, burst = 1;
    Sizes* sizes = nullptr;

    virtual ~Machine() = default;
    virtual void save(std::vector<int64_t>&) const {}
    virtual Counter counter() { return {}; }
    virtual std::vector<int64_t*> addresses() { return {}; }  // the words that are
    virtual bool compares_ages() const { return false; }
    void save_pace(std::vector<int64_t>& out) const {
        if (sizes) out.insert(out.end(), {interval, latency, burst});
    }

    void change(uint8_t other, int64_t now) {
        cycles_in[activity] += now - since;
        activity = other;
        since = now;
    }
};

struct Banks {
    struct Pass {
        int64_t who, bank, since, cycles;
    };
    int64_t count;
    std::vector<Pass> passing;
};

struct Buffer {
    std::vector<Token> entries;
    std::vector<int64_t> pages;
};

struct Buffers {
    std::deque<Buffer> all;
};

struct TokenNotes {
    bool wanted;
    std::vector<Token> all;
    size_t told = 0;  // so many of them the caller has
};

struct IntNotes {
    std::vector<int64_t> all;
};
