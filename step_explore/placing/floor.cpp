// Blocks on a grid: places by simulated annealing, and routes between them by negotiated congestion.
//
// Places are numbered row by row. Between two neighbours lies the distance of their coordinates, x of the column and y of
// the row. A random number is that of the C++ standard, so equal seeds have equal results.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace {

constexpr double COLDEST = 0.002;  // the last temperature, as a part of the first one
constexpr double EASE = 0.5, HARDER = 1.3;  // cost of one channel too many in the first round; growth a round
constexpr double EVENLY = 1e-6;  // cost of each channel that is there: of equal routes the emptiest

struct Grid {
    int64_t columns, rows;
    const double *x, *y;

    double distance(int64_t one, int64_t two) const {
        return std::abs(x[one % columns] - x[two % columns]) + std::abs(y[one / columns] - y[two / columns]);
    }
};

// The border between neighbours, by the first of them: to the right, or down.
int64_t border(int64_t one, int64_t two) { return 2 * std::min(one, two) + (std::abs(one - two) != 1); }

}  // namespace

extern "C" {

// The `place` of each of so many `blocks`, which come with places that they may have. `ends` has the two blocks of each
// pull, `weights` its cost of a step. A block may have a place where `may` has a bit of its `kinds`.
void step_anneal(int64_t columns, int64_t rows, const double* x, const double* y, const int64_t* may, int64_t blocks,
                 const int64_t* kinds, int64_t* place, int64_t pulls, const int64_t* ends, const double* weights,
                 int64_t moves, double hottest, int64_t seed) {
    Grid grid{columns, rows, x, y};
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    auto draw = [&](int64_t below) { return int64_t(random() % uint64_t(below)); };
    std::vector<int64_t> at(columns * rows, -1);
    for (int64_t block = 0; block < blocks; block++) at[place[block]] = block;
    std::vector<std::vector<std::pair<int64_t, double>>> beside(blocks);
    for (int64_t pull = 0; pull < pulls; pull++) {
        int64_t one = ends[2 * pull], two = ends[2 * pull + 1];
        if (one == two) continue;
        beside[one].push_back({two, weights[pull]});
        beside[two].push_back({one, weights[pull]});
    }
    auto cost = [&](int64_t block) {
        double sum = 0;
        for (auto [other, weight] : beside[block]) sum += weight * grid.distance(place[block], place[other]);
        return sum;
    };
    auto near = [&](int64_t middle, int64_t window, int64_t end) {
        return std::clamp(middle + draw(2 * window + 1) - window, int64_t(0), end - 1);
    };
    double heat = hottest;
    int64_t window = 1;
    for (int64_t move = 0; move < moves; move++) {
        if (move % blocks == 0) {
            double cooled = std::pow(COLDEST, double(move) / double(moves));
            heat = hottest * cooled;
            window = std::max<int64_t>(1, std::lround(double(std::max(columns, rows)) * cooled));
        }
        int64_t block = draw(blocks), from = place[block];
        int64_t column = near(from % columns, window, columns), to = near(from / columns, window, rows) * columns + column;
        int64_t other = at[to];
        if (to == from || !(may[to] & kinds[block]) || (other >= 0 && !(may[from] & kinds[other]))) continue;
        double change = -cost(block) - (other < 0 ? 0 : cost(other));
        place[block] = to;
        if (other >= 0) place[other] = from;
        change += cost(block) + (other < 0 ? 0 : cost(other));
        if (change <= 0 || double(random() >> 11) * 0x1p-53 < std::exp(-change / heat)) {
            at[to] = block;
            at[from] = other;
            continue;
        }
        place[block] = from;
        if (other >= 0) place[other] = to;
    }
}

// The places that each channel passes from the first of its `ends` to the second one, each behind their number; there
// until the next call. At most `tracks` channels cross the border of two places, where `rounds` find such routes: what
// is crowded costs more each round, and most to channels of small `weights`.
const int64_t* step_route(int64_t columns, int64_t rows, const double* x, const double* y, int64_t channels,
                          const int64_t* ends, const double* weights, int64_t tracks, int64_t rounds, int64_t* count) {
    Grid grid{columns, rows, x, y};
    int64_t places = columns * rows;
    std::vector<std::vector<int64_t>> routes(channels);
    std::vector<int64_t> passing(2 * places), before(places);
    std::vector<double> history(2 * places), reached(places);
    double pressure = EASE;
    auto crosses = [&](const std::vector<int64_t>& route, auto&& each) {
        for (size_t at = 1; at < route.size(); at++) each(border(route[at - 1], route[at]));
    };
    using Reached = std::pair<double, int64_t>;
    auto find = [&](int64_t channel) {
        int64_t from = ends[2 * channel], to = ends[2 * channel + 1];
        std::priority_queue<Reached, std::vector<Reached>, std::greater<>> next;
        std::fill(reached.begin(), reached.end(), HUGE_VAL);
        reached[from] = 0;
        next.push({grid.distance(from, to), from});
        while (next.top().second != to) {
            auto [least, here] = next.top();
            next.pop();
            if (least > reached[here] + grid.distance(here, to)) continue;  // it was reached on a shorter way, too
            int64_t column = here % columns, row = here / columns;
            for (auto [there, is] : {std::pair{here - 1, column > 0}, {here + 1, column + 1 < columns},
                                     {here - columns, row > 0}, {here + columns, row + 1 < rows}}) {
                if (!is) continue;
                int64_t crossed = border(here, there), over = passing[crossed] + 1 - tracks;
                double crowd = history[crossed] + pressure * double(std::max<int64_t>(0, over));
                double far = reached[here] + grid.distance(here, there) + crowd / weights[channel] +
                             EVENLY * double(passing[crossed]);
                if (far >= reached[there]) continue;
                reached[there] = far;
                before[there] = here;
                next.push({far + grid.distance(there, to), there});
            }
        }
        std::vector<int64_t> route{to};
        while (route.back() != from) route.push_back(before[route.back()]);
        std::reverse(route.begin(), route.end());
        return route;
    };
    for (int64_t round = 0; round < rounds; round++, pressure *= HARDER) {
        bool crowded = false;
        for (int64_t channel = 0; channel < channels; channel++) {
            auto& route = routes[channel];
            bool again = route.empty();
            crosses(route, [&](int64_t each) { again |= passing[each] > tracks; });
            if (!again) continue;
            crosses(route, [&](int64_t each) { passing[each]--; });
            route = find(channel);
            crosses(route, [&](int64_t each) { passing[each]++; });
        }
        for (int64_t each = 0; each < 2 * places; each++) {
            if (passing[each] <= tracks) continue;
            crowded = true;
            history[each] += EASE * double(passing[each] - tracks);
        }
        if (!crowded) break;
    }
    static thread_local std::vector<int64_t> out;
    out.clear();
    for (const auto& route : routes) {
        out.push_back(int64_t(route.size()));
        out.insert(out.end(), route.begin(), route.end());
    }
    *count = int64_t(out.size());
    return out.data();
}
}
