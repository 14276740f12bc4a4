// Mixed cells: T. Gao and T. Y. Li, "Mixed volume computation via linear programming" (2000), in
// the form of T. Mizutani, A. Takeda and M. Kojima (2007): an edge of each support after the other,
// and whether a direction v exists in which all of them are the lowest of their lifted supports.
#include "series/cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace mdqr_cells {

namespace {

// Smaller entries are rounding errors: entries are quotients of small determinants.
constexpr double tiny = 1e-9, infeasible = -1e-11;

// The directions v in which chosen points are lowest: the components of v, and how much higher the
// other points are, are affine functions of variables that are zero at a vertex; the heights are
// not negative, and the vertex has the least cost, a sum of the variables with positive factors.
class dictionary {
public:
    explicit dictionary(word variables)
        : n(size_t(variables)), columns(n), wide(n + 1), random(88172645463325252), cost(n, 0.0),
          variable(n, free), a(n * wide, 0.0) {
        for (size_t j = 0; j < n; ++j)
            row(j)[j + 1] = 1.0;
    }

    word pivots = 0;

    // Let one of some points be lowest of them; false if it cannot be.
    bool enter(const problem& p, const std::vector<word>& points, word base) {
        for (const word c : points) {
            if (c == base)
                continue;
            a.resize(a.size() + wide, 0.0);
            height.push_back(c);
            double* const own = row(n + height.size() - 1);
            own[0] = p.lifting[c] - p.lifting[base];
            for (size_t j = 0; j < n; ++j) {
                const double d =
                    double(p.points[size_t(c) * n + j] - p.points[size_t(base) * n + j]);
                for (size_t k = 0; d != 0.0 && k <= columns; ++k)
                    own[k] += d * row(j)[k];
            }
        }
        for (size_t k = 0; k < columns; ++k)
            if (variable[k] == free)
                bind(k);
        return feasible();
    }

    // Let another point of that support be as low; false if it cannot be.
    bool fix(word other) {
        size_t k = size_t(std::find(variable.begin(), variable.end(), other) - variable.begin());
        if (k == variable.size()) {
            const size_t r =
                size_t(std::find(height.begin(), height.end(), other) - height.begin());
            k = entering(row(n + r), -1.0);
            if (k == columns)
                return false;
            pivot(r, k);
        }
        remove_column(k);
        return feasible();
    }

private:
    static constexpr word free = -1;

    double* row(size_t i) { return a.data() + i * wide; }

    // Replace a component of v, which no height needs.
    void bind(size_t k) {
        size_t best = height.size();
        double most = tiny;
        for (size_t r = 0; r < height.size(); ++r)
            if (const double size = std::fabs(row(n + r)[k + 1]); size > most) {
                most = size;
                best = r;
            }
        if (best == height.size())
            return;
        pivot(best, k);
        std::copy_n(row(n + height.size() - 1), wide, row(n + best));
        height[best] = height.back();
        height.pop_back();
        a.resize(a.size() - wide);
        cost[k] = draw();
    }

    // The dual simplex method.
    bool feasible() {
        for (;;) {
            size_t worst = height.size();
            double least = infeasible;
            for (size_t r = 0; r < height.size(); ++r)
                if (const double value = row(n + r)[0]; value < least) {
                    least = value;
                    worst = r;
                }
            if (worst == height.size())
                return true;
            const size_t k = entering(row(n + worst), 1.0);
            if (k == columns)
                return false;
            pivot(worst, k);
        }
    }

    // The variable that changes a row in the direction of a sign for the least cost.
    size_t entering(const double* given, double sign) const {
        size_t best = columns;
        double least = HUGE_VAL;
        for (size_t k = 0; k < columns; ++k)
            if (const double rate = sign * given[k + 1];
                variable[k] != free && rate > tiny && cost[k] < least * rate) {
                least = cost[k] / rate;
                best = k;
            }
        return best;
    }

    // Exchange a height and a variable.
    void pivot(size_t r, size_t k) {
        ++pivots;
        double* const own = row(n + r);
        const double inverse = 1.0 / own[k + 1];
        for (size_t i = 0; i <= columns; ++i)
            own[i] *= -inverse;
        own[k + 1] = inverse;
        for (size_t i = 0; i < n + height.size(); ++i) {
            double* const other = row(i);
            const double factor = other[k + 1];
            if (other == own || factor == 0.0)
                continue;
            other[k + 1] = 0.0;
            for (size_t j = 0; j <= columns; ++j)
                other[j] += factor * own[j];
        }
        const double factor = std::exchange(cost[k], 0.0);
        for (size_t j = 0; j < columns; ++j)
            cost[j] = std::max(cost[j] + factor * own[j + 1], 0.0);
        std::swap(variable[k], height[r]);
    }

    void remove_column(size_t k) {
        --columns;
        for (size_t i = 0; i < n + height.size(); ++i)
            row(i)[k + 1] = row(i)[columns + 1];
        cost[k] = cost[columns];
        variable[k] = variable[columns];
        cost.pop_back();
        variable.pop_back();
    }

    double draw() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return 0.5 + double(random >> 12) * 0x1p-52;
    }

    size_t n, columns, wide;
    std::uint64_t random;
    std::vector<double> cost;
    std::vector<word> variable, height; // points whose heights they are
    std::vector<double> a;              // rows: v, heights; the constants first
};

// Points of a support that are lowest in some direction of those that are left, and these
// directions. Others need not be looked at any more.
struct candidates {
    word support = 0;
    std::vector<word> points;
    std::vector<dictionary> directions;
};

class tree {
public:
    explicit tree(const problem& given) : p(given), cell(size_t(2 * p.supports)) {
        std::vector<candidates> all;
        for (word i = 0; i < p.supports; ++i) {
            all.emplace_back();
            all.back().support = i;
            for (word c = p.start[i]; c < p.start[i + 1]; ++c)
                all.back().points.push_back(c);
        }
        search(all, dictionary(p.variables));
    }

    found result;

private:
    // Edges of one of the supports that are left, and then of the others.
    void search(const std::vector<candidates>& left, const dictionary& above) {
        if (left.empty()) {
            result.places.insert(result.places.end(), cell.begin(), cell.end());
            return;
        }
        std::vector<candidates> now;
        size_t least = 0;
        for (const candidates& one : left) {
            now.push_back(lowest(one, above));
            if (now.back().points.size() < 2)
                return;
            if (now.back().points.size() < now[least].points.size())
                least = now.size() - 1;
        }
        const candidates chosen = std::move(now[least]);
        now.erase(now.begin() + std::ptrdiff_t(least));
        for (candidates& one : now)
            one.directions.clear();
        for (size_t i = 0; i < chosen.points.size(); ++i)
            for (size_t j = i + 1; j < chosen.points.size() && result.complete; ++j) {
                dictionary d = chosen.directions[i];
                if (!counted(d, d.fix(chosen.points[j])))
                    continue;
                cell[size_t(2 * chosen.support)] = chosen.points[i];
                cell[size_t(2 * chosen.support + 1)] = chosen.points[j];
                search(now, d);
            }
    }

    candidates lowest(const candidates& given, const dictionary& above) {
        candidates found;
        found.support = given.support;
        for (const word c : given.points) {
            dictionary d = above;
            if (!counted(d, d.enter(p, given.points, c)))
                continue;
            found.points.push_back(c);
            found.directions.push_back(std::move(d));
        }
        return found;
    }

    bool counted(dictionary& d, bool fits) {
        result.pivots += std::exchange(d.pivots, 0) + 1;
        result.complete = result.complete && result.pivots <= p.most;
        return fits;
    }

    const problem& p;
    std::vector<word> cell;
};

} // namespace

found search(const problem& p) { return tree(p).result; }

} // namespace mdqr_cells
