// What an engine is made of: machines, the channels between them, and what several machines draw on.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "tokens.hpp"

struct Engine;
struct Machine;

enum Activity : uint8_t { STARVED, BUSY, BLOCKED, FINISHED };
enum Outcome { FIRES, COMPUTES, ENDS, STARVES, BLOCKS, IS_CROWDED, FAULTS, FAILS };

// A FIFO, as `sim_approx.machine.Channel` describes it. The ring holds what is `shown`, then what is coming: a token is
// in it from the firing that sent it on.
struct Channel {
    Token* ring = new Token[2];
    uint32_t head = 0, mask = 1, shown = 0, stored = 0;
    int64_t space = 0;
    Machine *reader = nullptr, *writer = nullptr;
    bool reader_waits = false, writer_waits = false, closed = false, deep = false, unread = false;
    bool watched = false, logged = false;
    uint32_t coming = 0;
    int32_t latency = 0, index = -1;
    int64_t taken = 0, available = 0, entered_last = -1, peak = 0;

    const Token& front() const { return ring[head]; }
    const Token& at(uint32_t place) const { return ring[(head + place) & mask]; }
    int64_t entered() const { return taken + shown + coming; }

    void append(const Token& token) {
        if (__builtin_expect(stored > mask, 0)) grow();
        ring[(head + stored) & mask] = token;
        stored++;
    }

    __attribute__((noinline)) void grow() {
        uint32_t size = 2 * (mask + 1);
        Token* larger = new Token[size];
        for (uint32_t place = 0; place < stored; place++) larger[place] = at(place);
        delete[] ring;
        ring = larger, mask = size - 1, head = 0;
    }
};

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
};

struct Machine {
    int (*rule)(Machine&, Engine&) = nullptr;
    Channels inputs, outputs;
    int64_t interval = 1, firings = 0, since = 0, latency = 0;
    int64_t cycles_in[4] = {};
    int32_t order = 0;
    uint8_t activity = STARVED;
    bool asleep = false, ends_run = false;

    virtual ~Machine() = default;
    virtual void save(std::vector<int64_t>&) const {}

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

// The tiles of a tensor; what was not asked for yet is MISSING, and `load` the function that has it.
struct Tiles {
    static constexpr Value MISSING = NOTHING;
    std::vector<Value> all;
    int64_t load;
    bool written = false;
};

struct TokenNotes {
    bool wanted;
    std::vector<Token> all;
};

struct IntNotes {
    std::vector<int64_t> all;
};
