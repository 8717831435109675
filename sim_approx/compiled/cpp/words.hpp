// The words in which rules are written (`sim_approx.machine`). A word that may end a try is a macro that returns from
// the rule with the outcome; `e` is the engine.
#pragma once
#include <alloca.h>

#include "engine.hpp"

#define NEED(channel)                                             \
    ({                                                            \
        Channel& c_ = *(channel);                                 \
        if (!c_.readable(e.now)) return e.starve(machine, c_);    \
        c_.front();                                               \
    })

// The tokens are copied to `place`.
#define NEED_ALL(channels, place)                                              \
    ({                                                                         \
        const Channels all_ = (channels);                                      \
        Token* found_ = static_cast<Token*>(place);                            \
        for (int64_t at_ = 0; at_ < all_.count; at_++) {                       \
            if (!all_.all[at_]->readable(e.now)) return e.starve_of_all(machine, all_); \
            found_[at_] = all_.all[at_]->front();                              \
        }                                                                      \
        Tokens{found_, all_.count};                                            \
    })

#define ANEW alloca(sizeof(Token) * all_.count)
#define IN(fronts) (INPUTS == ANY ? ANEW : (fronts).all)

// Where a rule has the tokens in front of its inputs, if the number of these is known.
template <int INPUTS>
union Fronts {
    Token all[INPUTS == ANY ? 1 : INPUTS];
    Fronts() {}
};

#define NEED_EACH(channels, mask)                                                \
    ({                                                                           \
        const Channels all_ = (channels);                                        \
        Token found_ = empty(0);                                                 \
        for (int64_t at_ : (mask)) {                                             \
            Channel& c_ = *all_.all[at_];                                        \
            if (!c_.readable(e.now)) return e.starve(machine, c_);               \
            found_ = c_.front();                                                 \
        }                                                                        \
        found_;                                                                  \
    })

#define NEED_ANY(channels, mask)                                                 \
    do {                                                                         \
        const Channels all_ = (channels);                                        \
        const Mask mask_ = (mask);                                               \
        if (!waiting(all_, mask_, e.now).any()) {                                \
            for (int64_t at_ : mask_) e.starve(machine, *all_.all[at_]);         \
            return STARVES;                                                      \
        }                                                                        \
    } while (0)

#define CHOSEN(channels, mask)                                                         \
    ({                                                                                 \
        const Channels all_ = (channels);                                              \
        const Mask mask_ = (mask);                                                     \
        Channel** found_ = static_cast<Channel**>(alloca(sizeof(Channel*) * all_.count)); \
        int64_t count_ = 0;                                                            \
        for (int64_t at_ : mask_) found_[count_++] = all_.all[at_];                    \
        Channels{found_, count_};                                                      \
    })

#define ROOM(channel)                                               \
    do {                                                            \
        Channel& c_ = *(channel);                                   \
        if (!c_.has_room(e.now)) return e.block(machine, c_); \
    } while (0)

#define ENTER(banks, who, place) \
    do {                         \
        if (e.crowded(banks, who, place)) return IS_CROWDED; \
    } while (0)

#define FAULT(number)         \
    do {                      \
        e.code = (number);    \
        return FAULTS;        \
    } while (0)

#define ALIGNED(tokens)                                                          \
    ({                                                                           \
        const Tokens all_ = (tokens);                                            \
        for (int64_t at_ = 1; at_ < all_.count; at_++)                           \
            if (!all_.all[at_].aligned(all_.all[0])) FAULT(STOPS_DISAGREE);      \
        all_.all[0];                                                             \
    })

// What asks the caller for something may come back with an error of his, or with a fault.
#define ASK(question)                                 \
    ({                                                \
        auto found_ = (question);                     \
        if (e.code) return e.code < 0 ? FAILS : FAULTS; \
        found_;                                       \
    })

// The value that an integer is.
#define WHOLE(integer)                                          \
    ({                                                          \
        const int64_t number_ = (integer);                      \
        number_ >= 0 ? Value(number_) : ASK(e.negative(number_)); \
    })

#define SAME_ROWS(tokens, ports)                                                      \
    do {                                                                              \
        if ((ports).count <= 1) break;                                                \
        if (int outcome_ = same_rows(tokens, ports, e); outcome_) return outcome_;    \
    } while (0)

// The outcome if the tokens of `ports` have other rows than the first one; 0: they have not.
__attribute__((noinline)) inline int same_rows(Tokens tokens, const Ints& ports, Engine& e) {
    for (int64_t at = 1; at < ports.count && tokens[ports[0]].has_value(); at++)
        if (ASK(e.rows(tokens[ports[at]].value)) != ASK(e.rows(tokens[ports[0]].value))) FAULT(STOPS_DISAGREE);
    return 0;
}

#define EACH _Pragma("GCC unroll 2") for

inline const Token front(const Channel* channel, int64_t now) {
    return channel->readable(now) ? channel->front() : Token();
}

inline Mask going(const Channels& channels, int64_t now) {
    Mask mask;
    for (int64_t at = 0; at < channels.count; at++)
        if (!(channels.all[at]->readable(now) && channels.all[at]->front().done())) mask.add(at);
    return mask;
}

inline Mask every(const Channels& channels) {
    Mask mask;
    for (int64_t at = 0; at < channels.count; at++) mask.add(at);
    return mask;
}

inline Mask waiting(const Channels& channels, const Mask& mask, int64_t now) {
    Mask found;
    for (int64_t at : mask)
        if (channels.all[at]->readable(now)) found.add(at);
    return found;
}

inline Mask oldest(const Channels& channels, const Mask& mask, int64_t now) {
    Mask best;
    int64_t since = INT64_MAX;
    for (int64_t at : mask) {
        const Channel& channel = *channels.all[at];
        if (channel.readable(now) && channel.available() < since) {
            since = channel.available();
            best = Mask();
            best.add(at);
        }
    }
    return best;
}

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

inline void begin(Buffers& buffers) { buffers.all.emplace_back(); }
inline void fill(Buffers& buffers, const Token& token) { buffers.all.back().entries.push_back(token); }
inline void lay(Buffers& buffers, int64_t page) { buffers.all.back().pages.push_back(page); }
inline void drop(Buffers& buffers) { buffers.all.pop_front(); }
inline const Token entry(const Buffers& buffers, int64_t number) {
    const auto& entries = buffers.all.front().entries;
    return entries[least(number, int64_t(entries.size()) - 1)];
}
inline int64_t page_of(const Buffers& buffers, int64_t number) {
    const auto& pages = buffers.all.front().pages;
    return pages[least(number, int64_t(pages.size()) - 1)];
}
inline int64_t page_count(const Buffers& buffers) { return int64_t(buffers.all.front().pages.size()); }

inline void write(Tiles& tiles, int64_t address, Value tile) {
    if (!is_object(tile) || tile == UNKNOWN || tiles.all[address] == tile) return;
    tiles.all[address] = tile;
    tiles.changes++;
}

inline void note(TokenNotes& notes, const Token& token) {
    if (notes.wanted) notes.all.push_back(token);
}
inline void note(IntNotes& notes, int64_t number) { notes.all.push_back(number); }

// Arguments of a function of values.
struct Arguments {
    std::vector<Value> all;

    __attribute__((noinline)) Arguments& add(Value value) {
        all.push_back(value);
        return *this;
    }
    __attribute__((noinline)) Arguments& add(Tokens tokens) {
        for (const Token& each : tokens) all.push_back(each.value);
        return *this;
    }
};

__attribute__((noinline)) inline Value apply(Engine& e, int64_t function, const Arguments& arguments) {
    return e.apply(function, arguments.all.data(), int64_t(arguments.all.size()));
}

#define CALL(function, arguments) ((function) == -1 ? UNKNOWN : ASK(apply(e, function, arguments)))
