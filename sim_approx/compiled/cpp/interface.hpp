// What `sim_approx.compiled.engine` calls.
#pragma once
#include "reader.hpp"

// The machines that the rules were made for, by number; the memory is MEMORY.
std::unique_ptr<Machine> make_machine(int64_t kind, Reader& reader);
constexpr int64_t MEMORY = -1;

// A rule that goes over all ports is there for the most common numbers of them, and for any.
#define RULE(fire, machine) fire<ANY, ANY>
#define RULE_BY_PORTS(fire, machine)                                              \
    ((machine).outputs.count == 1 && (machine).inputs.count == 1   ? fire<1, 1>   \
     : (machine).outputs.count == 1 && (machine).inputs.count == 2 ? fire<2, 1>   \
     : (machine).outputs.count == 2 && (machine).inputs.count == 1 ? fire<1, 2>   \
                                                                   : fire<ANY, ANY>)

struct Run {
    Engine engine;
    Out out;
    int64_t passed = 0;
    size_t told = 0;  // so many parts of what was recorded

    // Brings what did not happen yet behind the others.
    const Event* happened(std::vector<Event>& events, int64_t* count) {
        auto is_past = [&](const Event& each) { return each.cycle < engine.reached; };
        *count = passed = std::stable_partition(events.begin(), events.end(), is_past) - events.begin();
        return events.data();
    }
};

extern "C" {

Run* step_start(const int64_t* packed, Callback callback, int64_t jumps, int64_t records) {
    auto run = new Run;
    if (records) run->engine.recorder = std::make_unique<Recorder>();
    run->engine.callback = callback;
    run->engine.jumps = jumps != 0;
    Reader reader{packed, run->engine};
    reader.read_parts();
    for (int64_t count = reader.next(); count > 0; count--) {
        int64_t kind = reader.next();
        if (kind == MEMORY) reader.read_memory();
        else run->engine.machines.push_back(make_machine(kind, reader));
    }
    run->engine.start();
    return run;
}

// Count in intervals of `width` cycles, up to cycle `cycles`; before the run.
void step_profile(Run* run, int64_t width, int64_t cycles) {
    run->engine.profile.begin(int64_t(run->engine.machines.size()), width, cycles);
}

// What was counted, once: up to the end of it all machines go on with what they do.
const int64_t* step_profiled(Run* run, int64_t* count) {
    Profile& profile = run->engine.profile;
    for (const auto& machine : run->engine.machines) profile.spend(*machine, profile.cycles);
    *count = int64_t(profile.spent.size());
    return profile.spent.data();
}

int64_t step_run(Run* run, int64_t limit, int64_t budget) { return run->engine.run(limit, budget); }

int64_t step_now(Run* run) { return run->engine.now; }

// Tokens that entered the channels of the program so far.
int64_t step_entered(Run* run) {
    int64_t count = 0;
    for (Channel& each : run->engine.channels) {
        each.count(run->engine.now);
        count += each.index >= 0 ? each.taken + each.counted : 0;
    }
    return count;
}

void step_end(Run* run) { delete run; }

// The ending, and the state behind it, as numbers; they stay there until the next call.
const int64_t* step_report(Run* run, int64_t* count) {
    Engine& engine = run->engine;
    Out& out = run->out;
    out = {engine.ending.status, engine.ending.cycles, engine.jumped};
    out.insert(out.end(), engine.ending.machines.begin(), engine.ending.machines.end());
    out.insert(out.end(), engine.ending.channels.begin(), engine.ending.channels.end());
    out.push_back(int64_t(engine.faults.size()));
    for (const Met& each : engine.faults) out.insert(out.end(), {each.machine, each.code});
    for (int64_t at = 0; at < engine.counted; at++) {
        Channel& channel = engine.channels[at];
        channel.count(engine.reached);
        uint32_t seen = channel.seen(engine.reached);
        out.insert(out.end(), {channel.taken, channel.peak, channel.space(NEVER), seen});
        for (uint32_t place = 0; place < seen; place++) save(out, channel.at(place).token);
    }
    for (const auto& machine : engine.machines) {
        out.insert(out.end(), {machine->activity, machine->firings});
        machine->save(out);
    }
    if (engine.memory) engine.memory->save_beats(out);  // it is the last of the machines
    for (const Tiles& each : engine.tiles) {
        out.push_back(each.changes ? int64_t(each.all.size()) : 0);
        if (each.changes) out.insert(out.end(), each.all.begin(), each.all.end());
    }
    for (const IntNotes& each : engine.int_notes) {
        out.push_back(int64_t(each.all.size()));
        out.insert(out.end(), each.all.begin(), each.all.end());
    }
    *count = int64_t(out.size());
    return out.data();
}

// The tokens that were noted since the last call, those of each list behind their number.
const int64_t* step_notes(Run* run, int64_t* count) {
    Out& out = run->out;
    out.clear();
    for (TokenNotes& each : run->engine.token_notes) {
        out.push_back(int64_t(each.all.size() - each.told));
        for (; each.told < each.all.size(); each.told++) save(out, each.all[each.told]);
    }
    *count = int64_t(out.size());
    return out.data();
}

// What entered channels since the run began, or left them, or was seen in those that are watched since the last call.
const Event* step_events(Run* run, int64_t* count) { return run->happened(run->engine.events, count); }

const Event* step_leaves(Run* run, int64_t* count) { return run->happened(run->engine.leaves, count); }

const Event* step_seen(Run* run, int64_t* count) { return run->happened(run->engine.shown, count); }

// The firings that were recorded, which come in parts; null behind the last one.
const Fired* step_fired(Run* run, int64_t* count) {
    auto& parts = run->engine.recorder->fired;
    if (run->told == parts.size()) return nullptr;
    *count = int64_t(parts[run->told].size());
    return parts[run->told++].data();
}

// All waits; of a run that is over, also those that last.

const Wait* step_waits(Run* run, int64_t* count) {
    Engine& engine = run->engine;
    engine.recorder->finish(engine.ending.cycles);
    *count = int64_t(engine.recorder->waits.size());
    return engine.recorder->waits.data();
}

// Those that were returned by the last call.
void step_forget_seen(Run* run) {
    auto& shown = run->engine.shown;
    shown.erase(shown.begin(), shown.begin() + run->passed);
}
}
