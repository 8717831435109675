// What is to be tried in later cycles: that of the next ones lies in slots by time, the rest in a map.
#pragma once
#include <map>
#include <utility>

#include "parts.hpp"

template <typename Item>
class Wheel {
    static constexpr int64_t SLOTS = 1024;  // more cycles than most latencies have
    struct Node {
        Item* item;
        uint32_t next;
    };
    uint32_t heads_[SLOTS] = {};
    uint64_t used_[SLOTS / 64] = {};
    std::vector<Node> nodes_ = std::vector<Node>(1);  // number 0 is no node
    uint32_t free_ = 0;
    std::map<int64_t, std::vector<Item*>> far_;

    void place(int64_t time, Item* item) {
        uint32_t number = free_;
        if (number) {
            free_ = nodes_[number].next;
        } else {
            number = uint32_t(nodes_.size());
            nodes_.emplace_back();
        }
        int64_t slot = time % SLOTS;
        nodes_[number] = {item, heads_[slot]};
        heads_[slot] = number;
        used_[slot / 64] |= uint64_t(1) << slot % 64;
    }

   public:
    void add(int64_t now, int64_t time, Item* item) {
        if (time - now < SLOTS) place(time, item);
        else far_[time].push_back(item);
    }

    // The first cycle after `now` in which something is to be tried.
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

    // Time goes on to `now`, there was nothing to try in between: takes out what is to be tried now.
    template <typename Action>
    void advance(int64_t now, Action action) {
        while (!far_.empty() && far_.begin()->first - now < SLOTS) {
            for (Item* item : far_.begin()->second) place(far_.begin()->first, item);
            far_.erase(far_.begin());
        }
        int64_t slot = now % SLOTS;
        uint32_t number = std::exchange(heads_[slot], 0);
        if (!number) return;
        used_[slot / 64] &= ~(uint64_t(1) << slot % 64);
        while (number) {
            Node& node = nodes_[number];
            action(node.item);
            uint32_t next = std::exchange(node.next, free_);
            free_ = number;
            number = next;
        }
    }
};
