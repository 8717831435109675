// What is to happen in later cycles. Events of the next cycles lie in slots by time, the others in a map.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

constexpr int64_t NEVER = INT64_MAX;

template <int LANES>
class Wheel {
    static constexpr int64_t SLOTS = 1024;  // more cycles than most latencies have
    struct Node {
        void* what;
        uint32_t next;
    };
    uint32_t heads_[LANES][SLOTS] = {};
    uint64_t used_[SLOTS / 64] = {};
    std::vector<Node> nodes_ = std::vector<Node>(1);  // number 0 is no node
    uint32_t free_ = 0;
    std::map<int64_t, std::vector<std::pair<int, void*>>> far_;

    void place(int lane, int64_t time, void* what) {
        uint32_t number = free_;
        if (number) {
            free_ = nodes_[number].next;
        } else {
            number = uint32_t(nodes_.size());
            nodes_.emplace_back();
        }
        int64_t slot = time % SLOTS;
        nodes_[number] = {what, heads_[lane][slot]};
        heads_[lane][slot] = number;
        used_[slot / 64] |= uint64_t(1) << slot % 64;
    }

   public:
    void add(int lane, int64_t now, int64_t time, void* what) {
        if (time - now < SLOTS) place(lane, time, what);
        else far_[time].push_back({lane, what});
    }

    // The first cycle after `now` in which something is to happen.
    int64_t next(int64_t now) const {
        for (int64_t ahead = 1; ahead < SLOTS;) {
            int64_t slot = (now + ahead) % SLOTS;
            uint64_t rest = used_[slot / 64] >> slot % 64;
            if (rest) {
                int64_t found = ahead + __builtin_ctzll(rest);
                if (found < SLOTS) return now + found;
                break;
            }
            ahead += 64 - slot % 64;
        }
        return far_.empty() ? NEVER : far_.begin()->first;
    }

    // Time goes on to `now`; nothing was to happen in between.
    void advance(int64_t now) {
        while (!far_.empty() && far_.begin()->first - now < SLOTS) {
            for (auto& [lane, what] : far_.begin()->second) place(lane, far_.begin()->first, what);
            far_.erase(far_.begin());
        }
    }

    template <typename Action>
    void happen(int lane, int64_t now, Action action) {
        uint32_t number = std::exchange(heads_[lane][now % SLOTS], 0);
        while (number) {
            Node node = nodes_[number];
            nodes_[number].next = free_;
            free_ = number;
            action(node.what);
            number = node.next;
        }
    }

    // All lanes of this cycle are through.
    void pass(int64_t now) {
        int64_t slot = now % SLOTS;
        used_[slot / 64] &= ~(uint64_t(1) << slot % 64);
    }
};
