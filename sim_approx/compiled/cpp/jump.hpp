// Jumps over the repetitions of a regular phase.
//
// A state is kept, and compared with later ones: where it comes again, only later, and the sources play on what they
// played, all that happened in between happens again, so many times as they do. What is compared is in `State`. What was
// kept is kept anew after a time, each one twice as long as that before. In the fifth eighth of it, comparisons are made
// whenever one machine, which was to be tried then, is to be tried again, until they cost what the run so far can pay:
// many in a row, as most come in the middle of a repetition, and end with the first number that differs.
#pragma once
#include "state.hpp"

class Jump {
   public:
    // Of a run that may jump: see `Engine::may_jump`.
    void allow() { due_ = next_ = 0; }

    // In the cycle that is about to happen, in which so many machines are to be tried. Returns whether it went to
    // another one, which is before `limit`.
    template <typename Engine>
    bool look(Engine& e, const std::vector<Machine*>& current, int64_t limit) {
        tries_ += int64_t(current.size()) + 1;
        if (__builtin_expect(tries_ < due_ || (tries_ < next_ && anchor_->due != e.now), true)) return false;
        return look_closely(e, current, limit);
    }

   private:
    static constexpr int64_t SHARE = 32;  // tries that pay for a number that is compared
    static constexpr int64_t FIRST = 16;  // tries per number of the state until it is kept anew, at first
    static constexpr int64_t ENDLESS = int64_t(1) << 61;
    static constexpr int64_t GLANCE = 8;  // tokens of a stream that are looked at before all else
    static constexpr int64_t MOST_APPENDED = int64_t(1) << 22;  // in one jump, as nothing interrupts it

    std::vector<int64_t> kept_;
    std::vector<Counter> players_;   // what plays, of a stream or of a walk,
    std::vector<int64_t> begins_;    // and where that was
    Machine* anchor_ = nullptr;
    int64_t begin_ = 0, tries_ = 0, began_ = 0, window_ = 0, spent_ = 0;
    int64_t due_ = INT64_MAX, next_ = INT64_MAX;  // the tries before comparisons, and before the state is kept anew

    template <typename Engine>
    __attribute__((noinline)) bool look_closely(Engine& e, const std::vector<Machine*>& current, int64_t limit) {
        if (tries_ >= next_) keep(e, current);
        else if (tries_ >= began_ + window_ / 8 * 5 || SHARE * spent_ >= tries_) due_ = next_;
        else return match(e, limit);
        return false;
    }

    template <typename Engine>
    void keep(Engine& e, const std::vector<Machine*>& current) {
        if (current.empty() || e.now == 0) return;
        kept_.clear(), players_.clear(), begins_.clear();
        State state(State::KEEP, kept_);
        e.visit(state);
        for (auto& each : e.machines)
            if (Counter counter = each->counter(); counter.counts() && counter.ends())
                players_.push_back(counter), begins_.push_back(*counter.word);
        anchor_ = *std::min_element(current.begin(), current.end(),
                                    [](Machine* a, Machine* b) { return a->firings < b->firings; });
        int64_t size = int64_t(kept_.size());
        window_ = std::max(2 * window_, FIRST * size);
        begin_ = e.now, began_ = tries_, due_ = tries_ + window_ / 2, next_ = tries_ + window_;
    }

    // Whether the streams play on as a repetition would, as far as a glance tells; if none plays, until `limit`.
    bool plays_on(int64_t limit) {
        bool plays = limit < ENDLESS;
        for (size_t at = 0; at < players_.size(); at++) {
            int64_t more = *players_[at].word - begins_[at], wanted = std::min(more + 1, GLANCE);
            int64_t found = more ? players_[at].repeats(more, wanted) : wanted;
            spent_ += found + 1;
            if (found < wanted) return false;
            plays |= more != 0;
        }
        return plays;
    }

    // Of `times` repetitions, how many the streams play.
    int64_t played(int64_t times) {
        for (size_t at = 0; at < players_.size() && times > 0; at++) {
            int64_t more = *players_[at].word - begins_[at];
            if (!more) continue;
            // The token behind the last one of a repetition may be looked at in it.
            int64_t wanted = times < ENDLESS / more ? times * more + 1 : ENDLESS;
            int64_t found = players_[at].repeats(more, wanted);
            spent_ += found;
            times = std::min(times, (found - 1) / more);
        }
        return times;
    }

    template <typename Engine>
    bool match(Engine& e, int64_t limit) {
        int64_t period = e.now - begin_, most = (limit - 1 - e.now) / period;
        int64_t paying = int64_t(kept_.size()) / (tries_ - began_) + 1;  // fewer repetitions would not pay
        if (most < paying || !plays_on(limit)) return false;
        State compared(State::MATCH, kept_, begin_, period, 0);
        e.visit(compared);
        spent_ += int64_t(compared.read());
        if (!compared.fits) return false;
        if (compared.grows) most = std::min(most, std::max(paying, MOST_APPENDED / compared.grows));
        int64_t spent = spent_, wanted = paying, times = played(wanted);
        while (times == wanted && wanted < most) {
            wanted = wanted < most / 2 ? 2 * wanted : most;
            times = played(wanted);
        }
        if (times < paying) return false;
        State moved(State::MOVE, kept_, begin_, period, times);
        e.visit(moved);
        e.to(e.now + times * period);
        window_ = 0, due_ = next_ = tries_ + 1, spent_ = spent;
        return true;
    }
};
