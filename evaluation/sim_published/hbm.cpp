// Off-chip memory of the artifact: the same as sim_published/hbm.py, line by line.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace {

using Timed = std::pair<int64_t, int64_t>;  // cycle, port
using Earliest = std::priority_queue<Timed, std::vector<Timed>, std::greater<Timed>>;

struct Burst {
    int64_t left = 0, answered = 0;
};

struct Hbm {
    int64_t interval, delay, dispatch, next = 0, cycle = 0;
    std::vector<int64_t> free;
    std::vector<Burst> bursts;
    std::vector<int64_t> active;
    Earliest coming, answers;

    void serve() {
        const int64_t channels = free.size();
        int64_t channel = next, taken = 0;
        bool ended = false;
        for (int64_t port : active) {
            Burst &burst = bursts[port];
            const int64_t many = std::min(dispatch, burst.left);
            for (int64_t n = 0; n < many; n++) {
                channel += taken++;
                if (channel >= channels) channel %= channels;
                const int64_t start = std::max(cycle + 1, free[channel]);
                free[channel] = start + interval;
                burst.answered = std::max(burst.answered, start + delay);
            }
            burst.left -= many;
            if (burst.left == 0) {
                answers.push({burst.answered + 1, port});
                ended = true;
            }
        }
        next = (channel + taken) % channels;
        if (ended)
            active.erase(std::remove_if(active.begin(), active.end(), [&](int64_t port) { return bursts[port].left == 0; }),
                         active.end());
    }
};

}  // namespace

extern "C" {

Hbm *hbm_start(int64_t channels, int64_t interval, int64_t delay, int64_t dispatch, int64_t ports) {
    Hbm *hbm = new Hbm{interval, delay, dispatch};
    hbm->free.resize(channels);
    hbm->bursts.resize(ports);
    return hbm;
}

void hbm_end(Hbm *hbm) { delete hbm; }

void hbm_issue(Hbm *hbm, int64_t port, int64_t start, int64_t requests) {
    hbm->bursts[port] = {requests, 0};
    hbm->coming.push({start, port});
}

// Time of the first answer, or -1; `port` gets its port.
int64_t hbm_advance(Hbm *hbm, int64_t limit, int64_t *port) {
    while (true) {
        if (hbm->active.empty() && hbm->coming.empty()) break;
        const int64_t cycle = hbm->active.empty() ? std::max(hbm->cycle, hbm->coming.top().first) : hbm->cycle;
        if (cycle > (hbm->answers.empty() ? limit : std::min(limit, hbm->answers.top().first))) break;
        hbm->cycle = cycle;
        bool more = false;
        while (!hbm->coming.empty() && hbm->coming.top().first <= hbm->cycle) {
            hbm->active.push_back(hbm->coming.top().second);
            hbm->coming.pop();
            more = true;
        }
        if (more) std::sort(hbm->active.begin(), hbm->active.end());
        hbm->serve();
        hbm->cycle++;
    }
    if (hbm->answers.empty()) return -1;
    *port = hbm->answers.top().second;
    return hbm->answers.top().first;
}

void hbm_pop(Hbm *hbm) { hbm->answers.pop(); }
}
