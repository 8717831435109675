// Jumps over the repetitions of a regular phase.
//
// A state is kept, and compared with later ones: where it comes again, only later, and the sources play on what they
// played, all that happened in between happens again, so many times as they do. What is compared is in `State`. The
// comparisons cost a small part of the run: they are made when one machine, which was to be tried then, is to be tried
// again, and not before the run has done so many tries as pay for them. What was kept is kept anew after a time, each
// one twice as long as that before.
#pragma once
#include "state.hpp"

class Jump {
   public:
    // Of a run that may jump: see `Engine::may_jump`.
    void allow() { next_ = 0; }

    // In the cycle that is about to happen, in which so many machines are to be tried. Stays before cycle `limit`.
    template <typename Engine>
    void look(Engine& e, const std::vector<Machine*>& current, int64_t limit) {
        tries_ += int64_t(current.size()) + 1;
        if (tries_ >= next_) keep(e, current);
        else if (anchor_ && anchor_->due == e.now && SHARE * spent_ < tries_) match(e, limit);
    }

   private:
    static constexpr int64_t SHARE = 8;  // tries that pay for a number that is compared
    static constexpr int64_t FIRST = 8;  // tries per number of the state until it is kept anew, at first
    static constexpr int64_t ENDLESS = int64_t(1) << 61;

    std::vector<int64_t> kept_;
    std::vector<Machine*> positions_;  // the machines that play a stream
    std::vector<int64_t> begins_;      // and where they were then
    Machine* anchor_ = nullptr;
    int64_t begin_ = 0, tries_ = 0, began_ = 0, next_ = INT64_MAX, window_ = 0, spent_ = 0;

    template <typename Engine>
    void keep(Engine& e, const std::vector<Machine*>& current) {
        if (current.empty() || e.now == 0) return;
        kept_.clear(), positions_.clear(), begins_.clear();
        State state(State::KEEP, kept_, e.machines.size());
        e.visit(state);
        for (auto& each : e.machines)
            if (Moving moving = each->moving(); moving.stream) positions_.push_back(each.get()), begins_.push_back(*moving.word);
        anchor_ = *std::min_element(current.begin(), current.end(),
                                    [](Machine* a, Machine* b) { return a->firings < b->firings; });
        int64_t size = int64_t(kept_.size());
        window_ = std::max(2 * window_, FIRST * size);
        begin_ = e.now, began_ = tries_, next_ = tries_ + window_, spent_ += size;
    }

    template <typename Engine>
    void match(Engine& e, int64_t limit) {
        int64_t period = e.now - begin_, times = (limit - 1 - e.now) / period;
        bool plays = false;
        for (size_t at = 0; at < positions_.size(); at++) {
            Moving moving = positions_[at]->moving();
            int64_t more = *moving.word - begins_[at];
            spent_++;
            if (!more) continue;
            // The token behind the last one of a repetition may be looked at in it.
            plays = true;
            int64_t wanted = times < ENDLESS / more ? times * more + 1 : ENDLESS;
            times = std::min(times, (moving.stream->same(*moving.word, more, wanted) - 1) / more);
            if (times <= 0) return;
        }
        if (!plays && limit > ENDLESS) return;
        if (times * (tries_ - began_) < int64_t(kept_.size())) return;  // it would not pay
        State compared(State::MATCH, kept_, e.machines.size(), begin_, period, times);
        e.visit(compared);
        spent_ += int64_t(compared.read());
        if (!compared.fits) return;
        State moved(State::MOVE, kept_, e.machines.size(), begin_, period, times);
        e.visit(moved);
        e.to(e.now + times * period);
        window_ = 0, next_ = tries_ + 1;
    }
};
