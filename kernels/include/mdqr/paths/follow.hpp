// Homotopy paths: prediction, two of Newton's corrections, and the length of the next step. Each
// lane follows a path of its own, and takes the next one when that has ended; what it finds does
// not depend on the other lanes.
#pragma once
#include "mdqr/paths/homotopy.hpp"
#include "mdqr/paths/predict.hpp"

MDQR_BEGIN

// Of a step: a first correction that is accepted, in tolerances; what the second may be of the
// first, and what it may be at all; the next length, aimed at, and its bounds.
constexpr double accepted = 8.0, contraction = 1e-3, small_correction = 1e-13;
constexpr double aim = 0.9, shrink = 0.3, grow = 2.0, least_factor = 0.1, most_after_failure = 0.5;

// a^(1 / (2 k)) for k = 1 .. 4, to some digits.
MDQR_FN double even_root(double a, int k) {
    a = a < 1e-30 ? 1e-30 : a > 1e30 ? 1e30 : a;
    const double r = sqrt(a);
    if (k == 2)
        return sqrt(r);
    if (k == 4)
        return sqrt(sqrt(r));
    if (k != 3)
        return r;
    double y = from_bits(bits(r) / 3 + 0x2a9f7625e8b0b0e0LL);
    for (int i = 0; i < 2; ++i)
        y = (2.0 * y + r / (y * y)) / 3.0;
    return y;
}

template <class R> class path_lanes {
public:
    using T = lane_of_real<R>;
    using number = complex_of<R>;
    using one = complex_of<T>; // of one limb: tangents, and what changes
    using word = mdqr_paths::word;
    static constexpr int points = known_points<T>::count;

    // Lanes of doubles that an object uses.
    MDQR_FN static word used(const mdqr_paths::homotopy& h) {
        constexpr int limbs = real_traits<R>::limbs;
        return 2 * limbs * (path_homotopy<R>::used(h) + 2 * h.variables) +
               2 * h.variables * (1 + 2 * points);
    }

    MDQR_FN path_lanes(const mdqr_paths::arguments& given, T* memory)
        : p(given), v(int(given.system.variables)),
          h(given.system, reinterpret_cast<number*>(memory)),
          x(reinterpret_cast<number*>(memory) + path_homotopy<R>::used(given.system)), at(x + v),
          moved(reinterpret_cast<one*>(at + v)) {
        known.difference = moved + v;
        known.tangent = known.difference + points * v;
        known.held = broadcast<T>(0.0);
        for (int j = 0; j < v; ++j)
            x[j] = constant<R>(0.0);
        for (int i = 0; i < (1 + 2 * points) * v; ++i)
            moved[i] = constant<T>(0.0);
        for (int i = 0; i < points; ++i)
            known.s[i] = constant<T>(0.0);
        for (int l = 0; l < lanes<T>; ++l) {
            lane[l] = {-1, 0, 0.0, 0, false, false, false, 0};
            set[l] = 0;
        }
    }

    // Follow the paths at places first, first + stride, ...
    MDQR_CALL void run(word first, word stride) {
        word next = first;
        for (;;) {
            bool any_left = false;
            for (int l = 0; l < lanes<T>; ++l) {
                while (lane[l].place < 0 && next < p.chosen) {
                    start(l, next);
                    next += stride;
                }
                any_left = any_left || lane[l].place >= 0;
            }
            if (!any_left)
                return;
            step();
        }
    }

private:
    struct lane_state {
        word place; // in `which`; negative: none
        word tried;
        double length; // wanted
        word steps;
        bool fresh, last, good;
        word end; // reached or lost; else 0
    };

    // -- between memory and lanes
    template <class F> MDQR_FN void each_number(int l, F&& f) {
        const mdqr_paths::points& a = p.paths;
        const word path = p.which[lane[l].place], row = 2 * a.count;
        for (int j = 0; j < v; ++j) {
            f(x[j], a.x + a.points_x.next * (j * a.count + path),
              number_layout{a.points_x.plane, a.points_x.imag});
            f(known.tangent[j], a.tangent + j * row + 2 * path, pairs);
            for (int i = 1; i < points; ++i) {
                const word place = ((i - 1) * v + j) * row + 2 * path;
                f(known.difference[i * v + j], a.past_x + place, pairs);
                f(known.tangent[i * v + j], a.past_tangent + place, pairs);
            }
        }
        f(known.s[0], a.s + 2 * path, pairs);
        for (int i = 1; i < points; ++i)
            f(known.s[i], a.past_s + (i - 1) * row + 2 * path, pairs);
    }

    MDQR_CALL void start(int l, word place) {
        const mdqr_paths::points& a = p.paths;
        const word path = p.which[place];
        const bool fresh = a.held[path] == 0;
        if (!fresh && a.s[2 * path] == p.to.target[0] && a.s[2 * path + 1] == p.to.target[1]) {
            p.to.state[place] = mdqr_paths::reached;
            return;
        }
        lane[l] = {place, 0, a.step[path], a.steps[path], fresh, false, false, 0};
        set[l] = int(a.set ? a.set[path] : 0);
        each_number(l, [&](auto& to, const double* from, number_layout layout)
                           MDQR_LAMBDA { take(to, l, from, layout); });
        lane_set(known.held, l, double(a.held[path]));
    }

    MDQR_CALL void finish(int l, word state) {
        const mdqr_paths::points& a = p.paths;
        const word path = p.which[lane[l].place];
        each_number(l, [&](auto& from, double* to, number_layout layout)
                           MDQR_LAMBDA { give(from, l, to, layout); });
        a.held[path] = word(lane_get(known.held, l));
        a.step[path] = lane[l].length;
        a.steps[path] = lane[l].steps;
        p.to.state[lane[l].place] = state;
        lane[l].place = -1;
    }

    // -- steps
    MDQR_CALL void step() {
        const one before = known.s[0], s = next_s();
        const prediction<T> ahead(known, s);
        const mask_t<T> begun = known.held > broadcast<T>(0.5);
        const one zero = constant<T>(0.0);
        for (int j = 0; j < v; ++j) {
            moved[j] = select(begun, ahead.change(j, v), zero);
            at[j] = x[j] + from_lanes<R>(moved[j].re, moved[j].im);
        }
        h.at(s, set);
        const T first = correct(false), second = correct(true);
        T size = broadcast<T>(0.0);
        for (int j = 0; j < v; ++j) {
            const T modulus = squared_modulus(at[j]);
            size = larger(modulus, size);
        }
        const T ratio = squared_modulus(at[0]) / size;
        for (int l = 0; l < lanes<T>; ++l)
            if (lane[l].place >= 0)
                judge(l, before, s, sqrt(lane_get(first, l) / lane_get(size, l)),
                      sqrt(lane_get(second, l) / lane_get(size, l)),
                      lane_get(ratio, l) < p.to.vanishing * p.to.vanishing);
        accept(s);
        for (int l = 0; l < lanes<T>; ++l)
            if (lane[l].place >= 0 && lane[l].end != 0)
                finish(l, lane[l].end);
    }

    // Newton's correction of the points; returns its squared size. NaN stays.
    MDQR_FN T correct(bool with_tangent) {
        h.evaluate(at);
        h.solve(with_tangent);
        T size = broadcast<T>(0.0), sum = size;
        for (int j = 0; j < v; ++j) {
            const one d = -h.correction(j);
            const T modulus = squared_modulus(d);
            size = larger(modulus, size);
            sum = sum + modulus;
            moved[j] = moved[j] + d;
            at[j] = at[j] + from_lanes<R>(d.re, d.im);
        }
        const mask_t<T> known_size = sum == sum;
        return select(known_size, size, sum);
    }

    MDQR_FN one next_s() {
        one s = known.s[0];
        for (int l = 0; l < lanes<T>; ++l) {
            lane_state& a = lane[l];
            if (a.place < 0 || a.fresh)
                continue;
            const double re = lane_get(s.re, l), im = lane_get(s.im, l);
            const double way_re = p.to.target[0] - re, way_im = p.to.target[1] - im;
            const double left = sqrt(way_re * way_re + way_im * way_im);
            const double wanted = a.length < p.to.longest ? a.length : p.to.longest;
            a.last = wanted >= left;
            const double part = wanted / left;
            lane_set(s.re, l, a.last ? p.to.target[0] : re + way_re * part);
            lane_set(s.im, l, a.last ? p.to.target[1] : im + way_im * part);
            if (p.to.jump && wanted >= sqrt(re * re + im * im)) {
                a.last = true;
                lane_set(s.re, l, 0.0);
                lane_set(s.im, l, 0.0);
            }
        }
        return s;
    }

    MDQR_FN void judge(int l, const one& before, const one& s, double first, double second,
                       bool vanished) {
        lane_state& a = lane[l];
        const double re = lane_get(s.re, l), im = lane_get(s.im, l);
        a.good = a.fresh;
        if (a.fresh) {
            a.fresh = false;
            if (re == p.to.target[0] && im == p.to.target[1])
                a.end = mdqr_paths::reached;
            return;
        }
        const double u = re - lane_get(before.re, l), w = im - lane_get(before.im, l);
        const double taken = sqrt(u * u + w * w);
        const bool good = a.good = first < accepted * p.to.tolerance &&
                                   (second < contraction * first || second < small_correction);
        double factor = least_factor;
        if (first == first)
            factor = aim * even_root(p.to.tolerance / first, int(lane_get(known.held, l)));
        const double most = good ? grow : most_after_failure, low = good ? shrink : least_factor;
        const double next = taken * (factor < low ? low : factor > most ? most : factor);
        // A step that an interval cut says nothing of the next one.
        a.length = good && a.last && a.length > next ? a.length : next;
        ++a.tried;
        a.steps += good;
        if (good && a.last)
            a.end = mdqr_paths::reached;
        else if ((good ? vanished : a.length < p.to.least) || a.tried >= p.to.most)
            a.end = mdqr_paths::lost;
    }

    // Paths are at their new points.
    MDQR_FN void accept(const one& s) {
        T flag = broadcast<T>(0.0);
        for (int l = 0; l < lanes<T>; ++l)
            lane_set(flag, l, lane[l].place >= 0 && lane[l].good ? 1.0 : 0.0);
        const mask_t<T> good = flag > broadcast<T>(0.5);
        for (int j = 0; j < v; ++j) {
            const one change = moved[j];
            for (int i = points - 1; i >= 1; --i) {
                one &d = known.difference[i * v + j], &t = known.tangent[i * v + j];
                d = select(good, known.difference[(i - 1) * v + j] - change, d);
                t = select(good, known.tangent[(i - 1) * v + j], t);
            }
            x[j] = select(good, at[j], x[j]);
            known.tangent[j] = select(good, h.tangent(j), known.tangent[j]);
        }
        for (int i = points - 1; i >= 1; --i)
            known.s[i] = select(good, known.s[i - 1], known.s[i]);
        known.s[0] = select(good, s, known.s[0]);
        const T held = known.held + flag, most = broadcast<T>(double(points));
        known.held = most - larger(most - held, broadcast<T>(0.0));
    }

    const mdqr_paths::arguments& p;
    const int v;
    path_homotopy<R> h;
    number *x, *at;
    one* moved;
    known_points<T> known;
    lane_state lane[lanes<T>];
    int set[lanes<T>];
};

MDQR_END
