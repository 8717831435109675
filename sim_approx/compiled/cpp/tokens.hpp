// Tokens, and what is known of values: a value is an integer >= 0, or the number of an object that the caller keeps.
#pragma once
#include <cstdint>
#include <cstring>

using Value = int64_t;

constexpr Value NOTHING = INT64_MIN, UNKNOWN = -1;

inline bool is_object(Value value) { return value < 0; }

// Two words, which are written and copied as such: a load that spans several stores which were made just before has to
// wait until they are through, and tokens are read in the cycle behind that in which they are written.
struct Token {
    Value value = NOTHING;
    uint64_t word = 0;  // stop, rank, done, and whether there is a token: where a rule has None, there is not

    Token() = default;
    Token(const Token& other) : value(other.value), word(other.word) {}
    Token& operator=(const Token& other) {
        value = other.value, word = other.word;
        return *this;
    }
    explicit Token(Value value, int64_t stop = 0, int64_t rank = 0, bool done = false)
        : value(value), word(uint16_t(stop) | uint64_t(uint16_t(rank)) << 16 | uint64_t(done) << 32 | THERE) {}

    int64_t stop() const { return int16_t(word); }
    int64_t rank() const { return int16_t(word >> 16); }
    bool done() const { return word >> 32 & 1; }
    bool there() const { return word & THERE; }
    bool has_value() const { return value != NOTHING; }
    int32_t control() const { return int32_t(done() | has_value() << 1 | stop() << 2 | rank() << 6); }
    bool aligned(const Token& other) const { return word == other.word; }

   private:
    static constexpr uint64_t THERE = uint64_t(1) << 33;
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
    Mask without(const Mask& others) const {
        Mask rest = *this;
        for (int64_t at = 0; at < MASK_WORDS; at++) rest.words[at] &= ~others.words[at];
        return rest;
    }
    Mask first() const {
        Mask one;
        if (any()) one.add(lowest());
        return one;
    }
    // Over the ports in it.
    struct Each {
        const Mask& mask;
        int64_t word;
        uint64_t rest;
        int64_t operator*() const { return word * 64 + __builtin_ctzll(rest); }
        bool operator!=(const Each&) const { return word < MASK_WORDS; }
        void operator++() {
            rest &= rest - 1;
            to_next();
        }
        void to_next() {
            while (!rest && ++word < MASK_WORDS) rest = mask.words[word];
        }
    };
    Each begin() const {
        Each first{*this, 0, words[0]};
        first.to_next();
        return first;
    }
    Each end() const { return {*this, MASK_WORDS, 0}; }
    bool several() const { return without(first()).any(); }
};

// Python's division.
inline int64_t quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
inline int64_t remainder(int64_t a, int64_t b) { return a - quotient(a, b) * b; }
