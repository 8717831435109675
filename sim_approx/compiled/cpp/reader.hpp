// From the numbers of `sim_approx.compiled.pack` to machines and channels, and back.
#pragma once
#include "memory.hpp"

struct Reader {
    const int64_t* at;
    Engine& engine;

    int64_t next() { return *at++; }

    int64_t* list(int64_t count) {
        engine.lists.emplace_back(new int64_t[count]);
        return engine.lists.back().get();
    }

    void read(int64_t& to) { to = next(); }
    void read(bool& to) { to = next() != 0; }
    void read(Mask& to) {
        for (uint64_t& word : to.words) word = uint64_t(next());
    }
    void read(Token& to) {
        Value value = next();
        int64_t stop = next(), rank = next(), state = next();
        to = state & 2 ? Token(value, stop, rank, state & 1) : Token();
    }
    void read(Channel*& to) {
        int64_t number = next();
        to = number < 0 ? nullptr : &engine.channels[number];
    }
    void read(Channels& to) {
        to.count = next();
        to.all = reinterpret_cast<Channel**>(list(to.count));
        for (Channel*& each : to) read(each);
    }
    // Numbers that stay where they are: the caller keeps them until the run is over.
    const int64_t* here(int64_t count) {
        at += count;
        return at - count;
    }

    void read(Ints& to) {
        to.kind = Ints::Kind(next());
        to.count = next();
        if (to.kind == Ints::LISTED) {
            to.all = here(to.count);
            return;
        }
        to.loops = next();
        to.extents = here(to.loops);
        if (to.kind == Ints::WALK) to.strides = here(to.loops), to.offset = next();
        else to.most = next();
    }
    void read(Stream& to) {
        int64_t count = next();
        if (count >= 0) {
            at--;
            read(to.listed);
            return;
        }
        read(to.stops);
        if (next()) to.values = here(to.stops.count);
    }
    void read(Pairs& to) {
        to.count = next();
        to.all = reinterpret_cast<Pair*>(list(2 * to.count));
        for (Pair& each : to) each.first = next(), each.second = next();
    }
    void read(Tokens& to) {
        to.count = next();
        to.all = reinterpret_cast<Token*>(list(2 * to.count));
        for (Token& each : to) read(each);
    }
    template <typename Part>
    Part* part(std::vector<Part>& parts) {
        int64_t number = next();
        return number < 0 ? nullptr : &parts[number];
    }
    void read(Banks*& to) { to = part(engine.banks); }
    void read(Buffers*& to) { to = part(engine.buffers); }
    void read(Tiles*& to) { to = part(engine.tiles); }
    void read(TokenNotes*& to) { to = part(engine.token_notes); }
    void read(IntNotes*& to) { to = part(engine.int_notes); }

    void read_base(Machine& to) {
        read(to.inputs);
        read(to.outputs);
        read(to.latency);
        to.interval = int32_t(next());
        read(to.ends_run);
        engine.contended |= next() != 0;
        read(to.burst);
        if (next()) to.sizes = &engine.sizes.emplace_back(Sizes{next()});
        to.order = int32_t(engine.machines.size());
        for (Channel* each : to.inputs) each->reader = &to;
        for (Channel* each : to.outputs) {
            each->writer = &to;
            each->delay = int32_t(to.latency) + 1 + each->lag;
            if (!to.sizes) continue;
            if (int64_t tiles = next(); tiles >= 0) each->sized = each->special = true, each->tiles = tiles;
        }
    }

    void read_memory() {
        auto memory = std::make_unique<Memory>();
        read_base(*memory);
        memory->beat_interval = next();
        memory->interleave = next();
        int64_t channels = next();
        memory->longest = next();
        memory->ports.resize(next());
        for (Port& port : memory->ports) {
            read(port.asks);
            read(port.arrives);
            read(port.beats);
            read(port.writes);
        }
        read(memory->before);
        int64_t beat_bytes = next();
        if (beat_bytes) {
            std::copy_n(at, DRAM_FIELDS, reinterpret_cast<int64_t*>(&memory->dram));
            at += DRAM_FIELDS;
        }
        memory->prepare(channels, beat_bytes);
        engine.memory = memory.get();
        engine.machines.push_back(std::move(memory));
    }

    void read_parts() {
        engine.counted = next();
        engine.channels.resize(next());
        for (int64_t number = 0; number < int64_t(engine.channels.size()); number++) {
            Channel& channel = engine.channels[number];
            channel.unread = number >= engine.counted;
            channel.index = int32_t(next());
            channel.capacity = int32_t(std::min<int64_t>(next(), INT32_MAX));  // less what is there already
            int64_t flags = next();
            channel.watched = flags & 1, channel.logged = flags & 2, channel.counts_rows = flags & 4;
            channel.lag = int32_t(next());
            channel.hops = uint16_t(next());
            channel.addresses = next();
            channel.row_bits = next(), channel.narrow = next(), channel.wide = next();
            channel.special = channel.unread || channel.watched || channel.logged;
            for (int64_t count = next(); count > 0; count--) {
                Token token;
                read(token);
                channel.capacity++;
                channel.append(token, 0);
                channel.known++;
            }
        }
        for (int64_t count = next(); count > 0; count--) engine.banks.push_back({next(), {}});
        engine.buffers.resize(next());
        for (int64_t count = next(); count > 0; count--) {
            int64_t tiles = next(), load = next();
            engine.tiles.push_back({std::vector<Value>(tiles, load < 0 ? UNKNOWN : Tiles::MISSING), load});
        }
        for (int64_t count = next(); count > 0; count--) engine.token_notes.push_back({next() != 0, {}});
        engine.int_notes.resize(next());
    }
};

using Out = std::vector<int64_t>;

inline void save(Out& out, int64_t value) { out.push_back(value); }
inline void save(Out& out, const Mask& mask) { out.insert(out.end(), mask.words, mask.words + MASK_WORDS); }
inline void save(Out& out, const Token& token) {
    out.insert(out.end(), {token.value, token.stop(), token.rank(), token.done() + 2 * token.there()});
}
