// Machines that are to be tried in later cycles: those of the next ones in lists by cycle, the others in a map.
#pragma once
#include <map>
#include <utility>

#include "parts.hpp"

class Wheel {
    static constexpr int64_t NEAR = 1024;  // more cycles than most latencies have
    static constexpr uint64_t SLOTS = NEAR;
    Machine* slots_[SLOTS] = {};
    uint64_t used_[SLOTS / 64] = {};
    std::map<int64_t, Machine*> far_;

    static void push(Machine*& list, Machine& machine) {
        machine.next = list;
        list = &machine;
    }

    static uint64_t slot_of(int64_t cycle) { return uint64_t(cycle) % SLOTS; }

    void place(Machine& machine) {
        uint64_t slot = slot_of(machine.due);
        push(slots_[slot], machine);
        used_[slot / 64] |= uint64_t(1) << slot % 64;
    }

    __attribute__((noinline)) void add_far(Machine& machine) { push(far_[machine.due], machine); }

   public:
    // Adds `machine`, which is in no list, and due behind the cycle `now`.
    void add(int64_t now, Machine& machine) {
        if (machine.due - now < NEAR) place(machine);
        else add_far(machine);
    }

    // Takes out `machine`, which was added, and is still due then.
    void remove(int64_t now, const Machine& machine) {
        Machine** at = machine.due - now < NEAR ? &slots_[slot_of(machine.due)] : &far_[machine.due];
        while (*at != &machine) at = &(*at)->next;
        *at = machine.next;
    }

    // Takes out all.
    void clear() {
        std::fill_n(slots_, SLOTS, nullptr);
        std::fill_n(used_, SLOTS / 64, 0);
        far_.clear();
    }

    // The first cycle after `now` in which something is to be tried, or was.
    int64_t next(int64_t now) const {
        for (int64_t ahead = 1; ahead < NEAR;) {
            uint64_t slot = slot_of(now + ahead);
            uint64_t rest = used_[slot / 64] >> slot % 64;
            if (rest) {
                int64_t found = ahead + __builtin_ctzll(rest);
                if (found < NEAR) return now + found;
                break;
            }
            ahead += int64_t(64 - slot % 64);
        }
        return far_.empty() ? NEVER : far_.begin()->first;
    }

    // Time goes on to `now`, there was nothing to try in between: takes out those to be tried now.
    template <typename Action>
    void advance(int64_t now, Action action) {
        while (!far_.empty() && far_.begin()->first - now < NEAR) {
            for (Machine* each = far_.begin()->second; each;) place(*std::exchange(each, each->next));
            far_.erase(far_.begin());
        }
        uint64_t slot = slot_of(now), used = used_[slot / 64], bit = uint64_t(1) << slot % 64;
        if (!(used & bit)) return;
        used_[slot / 64] = used ^ bit;
        for (Machine* each = std::exchange(slots_[slot], nullptr); each; each = each->next) action(each);
    }
};
