// One channel of DRAM: `sim_approx.dram` in C++, where its words are explained.
#pragma once
#include "words.hpp"

// The fields of `step.lowering.dram.Dram`, in their order.
struct DramConfig {
    int64_t fabric_ps, clock_ps, banks, bank_groups, row_bytes, group_beats, burst_bytes, burst, cl, cwl, trcd, trp, tras,
        tccd_l, trrd_s, trrd_l, tfaw, trtp, twr, twtr_s, twtr_l, turnaround, trefi, trfc, queue, out_of_turn;
};
constexpr int64_t DRAM_FIELDS = sizeof(DramConfig) / sizeof(int64_t);

class DramChannel {
   public:
    struct Place {
        int64_t bank, row;
    };
    struct Plan {
        int64_t activate, data;
    };

    // The memory has so many channels, `interleave` beats of one after the other.
    DramChannel(const DramConfig& dram, int64_t channels, int64_t interleave, int64_t beat_bytes)
        : dram_(dram), channels_(channels), interleave_(interleave),
          columns_(std::max(int64_t(1), beat_bytes / dram.burst_bytes)),
          row_columns_(dram.row_bytes * columns_ / beat_bytes), row_(dram.banks, CLOSED),
          activate_from_(dram.banks), precharge_from_(dram.banks), column_from_(dram.banks),
          group_activate_from_(dram.bank_groups), group_column_from_(dram.bank_groups),
          group_read_from_(dram.bank_groups), data_ends_(dram.queue), refresh_at_(dram.trefi) {}

    int64_t clock_of(int64_t cycle) const { return ratio(cycle, dram_.fabric_ps, dram_.clock_ps); }
    int64_t cycle_of(int64_t clock) const { return ratio(clock, dram_.clock_ps, dram_.fabric_ps); }

    Place place(int64_t address, int64_t column = 0) const {
        int64_t inside = address / (interleave_ * channels_) * interleave_ + address % interleave_;
        inside = inside * columns_ + column;
        int64_t apart = std::max(int64_t(1), dram_.bank_groups / columns_);
        int64_t group = (inside / std::max(dram_.group_beats, columns_) + column * apart) % dram_.bank_groups;
        int64_t above = inside / (dram_.bank_groups * row_columns_);
        int64_t in_group = dram_.banks / dram_.bank_groups;
        int64_t row = above / in_group;
        int64_t mixed = row ^ row / dram_.banks ^ row / dram_.banks / dram_.banks;
        group = (group ^ mixed ^ mixed / in_group) % dram_.bank_groups;
        return {(above ^ mixed) % in_group * dram_.bank_groups + group, row};
    }

    bool has_room(int64_t clock) const { return data_ends_[granted_ % dram_.queue] <= clock; }

    void refresh(int64_t clock) {
        while (refresh_at_ <= clock) {
            int64_t begin = refresh_at_;
            for (int64_t bank = 0; bank < dram_.banks; bank++)
                begin = std::max(begin, row_[bank] == CLOSED ? activate_from_[bank] : precharge_from_[bank] + dram_.trp);
            for (int64_t bank = 0; bank < dram_.banks; bank++) {
                row_[bank] = CLOSED;
                activate_from_[bank] = begin + dram_.trfc;
            }
            refresh_at_ += dram_.trefi;
        }
    }

    Plan plan(Place at, bool writes, int64_t clock) const {
        int64_t group = at.bank % dram_.bank_groups, activate = -1, column;
        if (row_[at.bank] == at.row) {
            column = std::max(clock, column_from_[at.bank]);
        } else {
            activate = row_[at.bank] == CLOSED ? std::max(clock, activate_from_[at.bank])
                                               : std::max(clock, precharge_from_[at.bank]) + dram_.trp;
            activate = std::max({activate, any_activate_from_, group_activate_from_[group],
                                 fourth_activate_from_[activations_ % FOUR]});
            column = activate + dram_.trcd;
        }
        column = std::max(column, group_column_from_[group]);
        if (writes) return {activate, std::max(column + dram_.cwl, bus_free_ + (bus_writes_ ? 0 : dram_.turnaround))};
        column = std::max({column, any_read_from_, group_read_from_[group]});
        return {activate, std::max(column + dram_.cl, bus_free_)};
    }

    int64_t grant(int64_t address, bool writes, int64_t clock) {
        for (int64_t column = 0; column < columns_; column++) move(place(address, column), writes, clock);
        return data_ends_[granted_++ % dram_.queue] = bus_free_;
    }

   private:
    void move(Place at, bool writes, int64_t clock) {
        int64_t group = at.bank % dram_.bank_groups;
        auto [activate, data] = plan(at, writes, clock);
        if (activate >= 0) {
            row_[at.bank] = at.row;
            column_from_[at.bank] = activate + dram_.trcd;
            precharge_from_[at.bank] = activate + dram_.tras;
            any_activate_from_ = activate + dram_.trrd_s;
            group_activate_from_[group] = activate + dram_.trrd_l;
            fourth_activate_from_[activations_ % FOUR] = activate + dram_.tfaw;
            activations_++;
        }
        int64_t end = data + dram_.burst;
        if (writes) {
            group_column_from_[group] = data - dram_.cwl + dram_.tccd_l;
            any_read_from_ = end + dram_.twtr_s;
            group_read_from_[group] = end + dram_.twtr_l;
            precharge_from_[at.bank] = std::max(precharge_from_[at.bank], end + dram_.twr);
        } else {
            group_column_from_[group] = data - dram_.cl + dram_.tccd_l;
            precharge_from_[at.bank] = std::max(precharge_from_[at.bank], data - dram_.cl + dram_.trtp);
        }
        bus_free_ = end, bus_writes_ = writes;
    }

    static constexpr int64_t CLOSED = -1, FOUR = 4;
    const DramConfig& dram_;
    int64_t channels_, interleave_, columns_, row_columns_;
    std::vector<int64_t> row_, activate_from_, precharge_from_, column_from_;
    int64_t any_activate_from_ = 0;
    std::vector<int64_t> group_activate_from_;
    int64_t fourth_activate_from_[FOUR] = {}, activations_ = 0;
    std::vector<int64_t> group_column_from_;
    int64_t any_read_from_ = 0;
    std::vector<int64_t> group_read_from_;
    int64_t bus_free_ = 0;
    bool bus_writes_ = false;
    std::vector<int64_t> data_ends_;
    int64_t granted_ = 0, refresh_at_;

    static int64_t ratio(int64_t what, int64_t by, int64_t to) { return (what * by + to - 1) / to; }
};
