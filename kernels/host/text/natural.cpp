#include "text/natural.hpp"

#include <cstring>
#include <vector>

namespace mdqr_host {

namespace {

constexpr word ten_19 = 10000000000000000000ull; // its highest bit is set
constexpr int chunk = 19;

std::vector<power_of_five> make_fives() {
    std::vector<power_of_five> found;
    natural x;
    x.set(1);
    for (int k = 0; k <= most_power; ++k) {
        natural shifted = x;
        power_of_five p;
        p.shift = 64 * x.size - x.bits();
        shift_left(shifted, p.shift);
        p.size = shifted.size;
        std::memcpy(p.words, shifted.words, sizeof(word) * p.size);
        p.inverse = reciprocal(p.words[p.size - 1]);
        found.push_back(p);
        multiply_add(x, 5, 0);
    }
    return found;
}

// u[0 .. n] -= q v, n words; returns whether that is below 0.
bool subtract_product(word* u, const power_of_five& v, word q) {
    word carry = 0, borrow = 0;
    for (int i = 0; i < v.size; ++i) {
        const wide product = wide(q) * v.words[i] + carry;
        carry = word(product >> 64);
        const wide difference = wide(u[i]) - word(product) - borrow;
        u[i] = word(difference);
        borrow = word(difference >> 64) & 1;
    }
    const wide difference = wide(u[v.size]) - carry - borrow;
    u[v.size] = word(difference);
    return (difference >> 64) != 0;
}

void add_back(word* u, const power_of_five& v) {
    word carry = 0;
    for (int i = 0; i < v.size; ++i) {
        const wide sum = wide(u[i]) + v.words[i] + carry;
        u[i] = word(sum);
        carry = word(sum >> 64);
    }
    u[v.size] += carry;
}

// One word of a quotient; u has one word more than v.
word divide_step(word* u, const power_of_five& v) {
    const int n = v.size;
    const word d = v.words[n - 1];
    word q = ~word(0), rest = u[n - 1] + d;
    bool close = false; // the rest exceeds a word: q is not too large
    if (u[n] < d)
        q = divide_words(u[n], u[n - 1], d, v.inverse, rest);
    else
        close = rest < d;
    while (n > 1 && !close && wide(q) * v.words[n - 2] > (wide(rest) << 64 | u[n - 2])) {
        --q;
        rest += d;
        close = rest < d;
    }
    if (subtract_product(u, v, q)) {
        --q;
        add_back(u, v);
    }
    return q;
}

} // namespace

const power_of_five& fives(int k) {
    static const std::vector<power_of_five> all = make_fives();
    return all[std::size_t(k)];
}

bool divide(natural& x, const power_of_five& y, natural& quotient) {
    const int steps = x.size - y.size + 1;
    quotient.size = steps > 0 ? steps : 0;
    x.words[x.size] = 0;
    for (int j = steps - 1; j >= 0; --j)
        quotient.words[j] = divide_step(x.words + j, y);
    quotient.trim();
    x.trim();
    return x.size != 0;
}

int write_digits(natural& x, char* text) {
    static const word inverse = reciprocal(ten_19);
    word chunks[most_words + 3];
    int count = 0;
    while (x.size) {
        word rest = 0;
        for (int i = x.size - 1; i >= 0; --i)
            x.words[i] = divide_words(rest, x.words[i], ten_19, inverse, rest);
        x.trim();
        chunks[count++] = rest;
    }
    if (count == 0) {
        text[0] = '0';
        return 1;
    }
    char digits[chunk];
    int length = 0;
    for (int j = count - 1; j >= 0; --j) {
        word rest = chunks[j];
        int used = chunk;
        for (; j < count - 1 ? used > 0 : rest != 0; rest /= 10)
            digits[--used] = char('0' + rest % 10);
        std::memcpy(text + length, digits + used, std::size_t(chunk - used));
        length += chunk - used;
    }
    return length;
}

void read_digits(const char* text, int count, natural& x) {
    x.set(0);
    while (count > 0) {
        const int taken = count % chunk ? count % chunk : chunk;
        word value = 0, scale = 1;
        for (int i = 0; i < taken; ++i) {
            value = 10 * value + word(text[i] - '0');
            scale *= 10;
        }
        if (x.size)
            multiply_add(x, scale, value);
        else
            x.set(value);
        text += taken;
        count -= taken;
    }
}

} // namespace mdqr_host
