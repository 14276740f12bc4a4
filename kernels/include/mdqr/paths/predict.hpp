// Where a path is expected to go: Hermite's interpolation of its point and those before it.
#pragma once
#include "mdqr/paths/arguments.hpp"
#include "mdqr/paths/complex.hpp"

MDQR_BEGIN

// Points with tangents; the point itself first, with a difference of zero. Arrays are
// (1 + past, variables).
template <class T> struct known_points {
    static constexpr int count = 1 + mdqr_paths::past;
    complex_of<T>* difference;
    complex_of<T>* tangent;
    complex_of<T> s[count];
    T held; // how many are known
};

// Newton's divided differences at s, twice each point.
template <class T> class prediction {
public:
    using number = complex_of<T>;
    static constexpr int nodes = 2 * known_points<T>::count;

    MDQR_FN prediction(const known_points<T>& given, const number& s) : known(given) {
        for (int i = 0; i < known.count; ++i)
            for (int j = 0; j < i; ++j)
                apart[i][j] = inverse(known.s[i] - known.s[j]);
        weight[0] = constant<T>(1.0);
        for (int order = 1; order < nodes; ++order)
            weight[order] = weight[order - 1] * (s - known.s[(order - 1) / 2]);
        for (int order = 2; order < nodes; ++order) {
            const mask_t<T> used = known.held > broadcast<T>(double(order / 2));
            weight[order] = select(used, weight[order], constant<T>(0.0));
        }
    }

    // The change of variable j of v.
    MDQR_FN number change(int j, int v) const {
        number row[nodes - 1];
        for (int i = 0; i < known.count; ++i) {
            const number& tangent = known.tangent[i * v + j];
            row[2 * i] = tangent;
            if (i + 1 < known.count)
                row[2 * i + 1] = (known.difference[(i + 1) * v + j] - known.difference[i * v + j]) *
                                 apart[i + 1][i];
        }
        number found = weight[1] * row[0];
        const number zero = constant<T>(0.0);
        for (int order = 2; order < nodes; ++order) {
            for (int i = 0; i + order < nodes; ++i)
                row[i] = (row[i + 1] - row[i]) * apart[(i + order) / 2][i / 2];
            // Differences of points that are not known may be NaN.
            const mask_t<T> used = known.held > broadcast<T>(double(order / 2));
            found = found + weight[order] * select(used, row[0], zero);
        }
        return found;
    }

private:
    const known_points<T>& known;
    number apart[known_points<T>::count][known_points<T>::count];
    number weight[nodes];
};

MDQR_END
