// Tokens, and what is known of values: a value is an integer >= 0, or the number of an object that the caller keeps.
#pragma once
#include <cstdint>
#include <cstring>

using Value = int64_t;

constexpr Value NOTHING = INT64_MIN, UNKNOWN = -1;

inline bool is_object(Value value) { return value < 0; }

struct Token {
    Value value = NOTHING;
    int16_t stop = 0, rank = 0;
    bool done = false;
    bool there = false;  // where a rule has None for a token, this is false

    Token() = default;
    explicit Token(Value value, int64_t stop = 0, int64_t rank = 0, bool done = false)
        : value(value), stop(int16_t(stop)), rank(int16_t(rank)), done(done), there(true) {}

    bool has_value() const { return value != NOTHING; }
    int32_t control() const { return done | has_value() << 1 | stop << 2 | rank << 6; }
    bool aligned(const Token& other) const {
        return stop == other.stop && rank == other.rank && done == other.done;
    }
};

inline Token empty(int64_t rank) { return Token(NOTHING, rank, rank); }
inline Token empty(int64_t rank, int64_t stop) { return Token(NOTHING, stop, rank); }

// A set of ports; as many words as the program with the most ports needs.
struct Mask {
    uint64_t words[MASK_WORDS] = {};

    bool any() const {
        uint64_t all = 0;
        for (uint64_t each : words) all |= each;
        return all != 0;
    }
    bool has(int64_t port) const { return words[port >> 6] >> (port & 63) & 1; }
    void add(int64_t port) { words[port >> 6] |= uint64_t(1) << (port & 63); }
    int64_t lowest() const {
        for (int64_t at = 0; at < MASK_WORDS; at++)
            if (words[at]) return at * 64 + __builtin_ctzll(words[at]);
        return -1;
    }
    Mask without(int64_t port) const {
        Mask rest = *this;
        rest.words[port >> 6] &= ~(uint64_t(1) << (port & 63));
        return rest;
    }
    bool several() const { return any() && without(lowest()).any(); }
};

// Python's division.
inline int64_t quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
inline int64_t remainder(int64_t a, int64_t b) { return a - quotient(a, b) * b; }
