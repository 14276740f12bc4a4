// Fibers for the threads of a launch: who waits gives way to the thread that is ready first.
#include "emulate.hpp"

#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace mdqr_emulate {

thread* current;
int threads;
long grid[3];

namespace {

constexpr size_t stack_size = 512 * 1024;
constexpr size_t kept_fibers = 4096; // with their stacks, for the next launch

struct fiber;
struct queue {
    fiber *first = nullptr, *last = nullptr;
};
// Where threads wait for each other: the last to arrive goes on, the others come back in order.
struct barrier {
    int alive = 0, arrived = 0, times = 0;
    queue waiting;
};
struct warp_state {
    board boards[2];
    barrier lanes;
};
struct block_state : block {
    barrier all;
    std::vector<double> memory;
    std::vector<warp_state> warps;
};
struct fiber : thread {
    jmp_buf place;
    bool begun = false;
    std::unique_ptr<char[]> stack{new char[stack_size]};
    block_state* state = nullptr;
    fiber* next = nullptr; // in the queue that it waits in
};

std::vector<std::unique_ptr<fiber>> fibers;
queue ready;
jmp_buf launcher;
size_t left;
void (*entry)(const void*);
const void* entry_arguments;

fiber& self() { return static_cast<fiber&>(*current); }
warp_state& warp() { return self().state->warps[size_t(current->index / warp_size)]; }

void append(queue& q, queue more) {
    if (!more.first)
        return;
    (q.first ? q.last->next : q.first) = more.first;
    q.last = more.last;
}
void append(queue& q, fiber& f) {
    f.next = nullptr;
    append(q, queue{&f, &f});
}

[[noreturn]] void live();

// The first start, on a stack of its own. Later ones go by longjmp: swapcontext is a system call.
[[noreturn]] void begin(fiber& f) {
    f.begun = true;
    static ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = f.stack.get();
    context.uc_stack.ss_size = stack_size;
    context.uc_link = nullptr;
    makecontext(&context, live, 0);
    setcontext(&context);
    std::abort();
}
[[noreturn]] void go_on() {
    fiber* const f = ready.first;
    if (!f)
        _longjmp(launcher, 1);
    ready.first = f->next;
    current = f;
    if (!f->begun)
        begin(*f);
    _longjmp(f->place, 1);
}
void wait_in(queue& q) {
    append(q, self());
    if (!_setjmp(self().place))
        go_on();
}

void release(barrier& b) {
    b.arrived = 0;
    ++b.times;
    append(ready, b.waiting);
    b.waiting = {};
}
void arrive(barrier& b) {
    if (++b.arrived == b.alive)
        release(b);
    else
        wait_in(b.waiting);
}
// As on the device, threads that have left count as arrived.
void leave(barrier& b) {
    if (--b.alive > 0 && b.arrived == b.alive)
        release(b);
}

// What a fiber runs: one thread after another.
[[noreturn]] void live() {
    for (;;) {
        entry(entry_arguments);
        --left;
        leave(self().state->all);
        leave(warp().lanes);
        if (!_setjmp(self().place))
            go_on();
    }
}

// Run every thread of the blocks; return how many wait for others that never come.
size_t run(const std::vector<std::unique_ptr<block_state>>& blocks) {
    left = blocks.size() * size_t(threads);
    while (fibers.size() < left)
        fibers.push_back(std::make_unique<fiber>());
    ready = {};
    for (size_t i = 0; i < left; ++i) {
        fiber& f = *fibers[i];
        f.in = f.state = blocks[i / size_t(threads)].get();
        f.index = int(i % size_t(threads));
        append(ready, f);
    }
    if (!_setjmp(launcher))
        go_on();
    if (left > 0)
        fibers.clear();
    return left;
}

// Shared memory starts as NaN, so that reads of what nobody wrote show.
std::unique_ptr<block_state> new_block(long x, long y, long z, long shared_bytes) {
    auto b = std::make_unique<block_state>();
    b->memory.assign(size_t(shared_bytes + 7) / 8, __builtin_nan(""));
    static_cast<block&>(*b) = {x, y, z, b->memory.data()};
    b->all.alive = threads;
    b->warps.resize(size_t(threads + warp_size - 1) / warp_size);
    for (int t = 0; t < threads; ++t)
        ++b->warps[size_t(t / warp_size)].lanes.alive;
    return b;
}

} // namespace

void yield() { wait_in(ready); }
void sync_block() { arrive(self().state->all); }
void sync_lanes() { arrive(warp().lanes); }
board& board_of_warp() { return warp().boards[warp().lanes.times % 2]; }

} // namespace mdqr_emulate

// Run `kernel` over the grid; the blocks of a cooperative launch run side by side. Return the
// number of threads that never came to their end.
extern "C" int mdqr_emulate_launch(void (*kernel)(const void*), const void* arguments,
                                   const long* grid, int threads, long shared_bytes,
                                   int cooperative) {
    using namespace mdqr_emulate;
    entry = kernel;
    entry_arguments = arguments;
    mdqr_emulate::threads = threads;
    std::memcpy(mdqr_emulate::grid, grid, sizeof mdqr_emulate::grid);
    std::vector<std::unique_ptr<block_state>> blocks;
    size_t stuck = 0;
    for (long z = 0; z < grid[2]; ++z)
        for (long y = 0; y < grid[1]; ++y)
            for (long x = 0; x < grid[0] && stuck == 0; ++x) {
                blocks.push_back(new_block(x, y, z, shared_bytes));
                if (!cooperative) {
                    stuck = run(blocks);
                    blocks.clear();
                }
            }
    if (cooperative)
        stuck = run(blocks);
    if (fibers.size() > kept_fibers)
        fibers.resize(kept_fibers);
    return int(stuck);
}
