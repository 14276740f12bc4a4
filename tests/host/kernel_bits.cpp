// Hashes of what the kernels compute, without Python: `kernel_bits` prints a line for each limb
// count, field and operation. Lines of two machines are equal or one of them is wrong.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "module/dispatch.hpp"
#include "module/pool.hpp"

using namespace mdqr_host;

namespace {

unsigned long long state = 1;
unsigned long long next_word() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state;
}

struct block {
    std::vector<double> data;
    block_view view{};

    block(int limbs, bool is_complex, std::vector<ptrdiff_t> shape) {
        ptrdiff_t size = 1;
        view.ndim = int(shape.size());
        for (int d = view.ndim; d-- > 0; size *= shape[d]) {
            view.shape[d] = shape[d];
            view.stride[d] = size;
        }
        view.limbs = limbs;
        view.plane = size;
        view.imag = is_complex ? limbs * size : 0;
        data.assign(limbs * size * (1 + is_complex), 0.0);
        view.data = data.data();
    }

    block(const block& other) : data(other.data), view(other.view) { view.data = data.data(); }

    // Limbs of 53 bits each, the first near 1; with `wild` anywhere in the range of a double.
    block& draw(bool wild = false) {
        const ptrdiff_t planes = ptrdiff_t(data.size()) / (view.plane * view.limbs);
        for (ptrdiff_t p = 0; p < planes; ++p)
            for (ptrdiff_t i = 0; i < view.plane; ++i) {
                int e = int(next_word() >> 61);
                if (wild)
                    e = int(next_word() >> 53) % 2040 - 1020;
                for (int l = 0; l < view.limbs; ++l) {
                    const unsigned long long word = next_word();
                    const double unit =
                        std::ldexp(double(1ull << 52 | word >> 12), -52 + e - 55 * l);
                    data[(p * view.limbs + l) * view.plane + i] = word & 2048 ? -unit : unit;
                }
            }
        return *this;
    }

    unsigned long long hash() const {
        unsigned long long h = 14695981039346656037ull;
        for (double x : data) {
            if (x != x)
                x = 0x7ff8p0; // all NaNs are one value
            unsigned long long word;
            std::memcpy(&word, &x, sizeof word);
            h = (h ^ word) * 1099511628211ull;
            h ^= h >> 29;
        }
        return h;
    }
};

void put(int limbs, bool is_complex, const char* name, unsigned long long hash) {
    std::printf("%d %s %s %016llx\n", limbs, is_complex ? "complex" : "real", name, hash);
}

constexpr struct {
    const char* name;
    operands kind;
} unary_forms[] =
    {
#define MDQR_UNARY_OP(name, kind) {#name, operands::kind},
#include "mdqr/operations.def"
    },
  binary_forms[] =
      {
#define MDQR_BINARY_OP(name, kind) {#name, operands::kind},
#include "mdqr/operations.def"
      },
  reduce_forms[] = {
#define MDQR_REDUCE_OP(name, operation, start) {#name, operands::number},
#include "mdqr/operations.def"
  };

void elementwise(const entry_table& t, bool is_complex) {
    for (bool wild : {false, true}) {
        block x(t.limbs, is_complex, {211}), y(x), out(x), size(t.limbs, false, {211});
        x.draw(wild);
        y.draw(wild);
        const auto line = [&](const char* name, block& out) {
            char text[80];
            std::snprintf(text, sizeof text, "%s%s", name, wild ? "_wild" : "");
            put(t.limbs, is_complex, text, out.hash());
            out.data.assign(out.data.size(), 0.0);
        };
        for (size_t i = 0; i < std::size(unary_forms); ++i)
            if (has_form(unary_forms[i].kind, is_complex)) {
                block& found = unary_forms[i].kind == operands::complex ? size : out;
                t.unary(unary_op(i), found.view, x.view);
                line(unary_forms[i].name, found);
            }
        for (size_t i = 0; i < std::size(binary_forms); ++i)
            if (has_form(binary_forms[i].kind, is_complex)) {
                t.binary(binary_op(i), out.view, x.view, y.view);
                line(binary_forms[i].name, out);
            }
    }
}

void reductions(const entry_table& t, bool is_complex) {
    block x(t.limbs, is_complex, {7, 301}), out(t.limbs, is_complex, {7}), sums(x);
    x.draw();
    for (size_t i = 0; i < std::size(reduce_forms); ++i) {
        t.reduce(reduce_op(i), out.view, x.view);
        put(t.limbs, is_complex, reduce_forms[i].name, out.hash());
    }
    t.cumsum(sums.view, x.view);
    put(t.limbs, is_complex, "cumsum", sums.hash());
}

void matrices(const entry_table& t, bool is_complex) {
    const auto made = [&](ptrdiff_t rows, ptrdiff_t columns) {
        return block(t.limbs, is_complex, {2, rows, columns});
    };
    block a = made(29, 23), b = made(23, 17), c = made(29, 17), out(c), tile = made(13, 13),
          right = made(13, 5), panel = made(37, 11), tau(t.limbs, is_complex, {2, 11}),
          factor = made(11, 11);
    for (block* x : {&a, &b, &c, &tile, &right, &panel})
        x->draw();
    if (t.limbs > 1) {
        t.matmul(out.view, &c.view, a.view, b.view, false, false, true);
        put(t.limbs, is_complex, "matmul", out.hash());
        const int signs[] = {1};
        t.residual(out.view, &c.view, signs, 1, a.view, b.view, false);
        put(t.limbs, is_complex, "residual", out.hash());
        t.qr_panel(panel.view, tau.view, factor.view, panel.view);
        put(t.limbs, is_complex, "qr_panel", panel.hash() ^ tau.hash() ^ factor.hash());
    }
    t.solve_triangular_tile(right.view, tile.view, right.view, true, false);
    put(t.limbs, is_complex, "solve_triangular_tile", right.hash());
    long long places[2 * 13] = {};
    t.lu_panel(tile.view, places, 13, 0, 13);
    put(t.limbs, is_complex, "lu_panel", tile.hash());
}

void small_systems(const entry_table& t, bool is_complex) {
    block a(t.limbs, is_complex, {3, 9, 9}), b(t.limbs, is_complex, {3, 9, 2}), x(b);
    a.draw();
    b.draw();
    double error[3 * 9 * 2], condition[3];
    long long steps[3], status[3];
    t.solve_small({&x.view, error, condition, steps, status}, a.view, b.view);
    put(t.limbs, is_complex, "solve_small", x.hash());
}

} // namespace

int main() {
    choose_level();
    set_num_threads(2);
    std::fprintf(stderr, "level %s\n", level_name());
    const kernel_call call;
    for (int limbs : {
#define MDQR_LIMB_COUNT(n) n,
#include "mdqr/limb_counts.def"
         })
        for (bool is_complex : {false, true}) {
            const entry_table& t = *entries(limbs);
            elementwise(t, is_complex);
            reductions(t, is_complex);
            matrices(t, is_complex);
            small_systems(t, is_complex);
        }
}
