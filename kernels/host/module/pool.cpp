#include "module/pool.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace mdqr_host {
namespace {

using clock = std::chrono::steady_clock;
constexpr auto longest_run = std::chrono::milliseconds(100);

// Tasks [next, end), in this order.
struct share {
    std::ptrdiff_t next, end;
};

struct job {
    void (*task)(void*, std::ptrdiff_t);
    void* context;
    share* shares;
    std::atomic<int>* next; // the first share that no thread has taken
    int count;
    clock::time_point deadline;

    void run() const {
        for (int i; (i = next->fetch_add(1)) < count;)
            run_share(shares[i]);
    }

private:
    // Until the deadline has passed, but one task at least. Short tasks read the clock seldom.
    void run_share(share& part) const {
        constexpr int most = 16;
        std::ptrdiff_t i = part.next;
        clock::time_point last{};
        for (int step = 1, left = 1; i < part.end;) {
            task(context, i++);
            if (--left > 0)
                continue;
            const clock::time_point now = clock::now();
            if (now >= deadline)
                break;
            const bool is_short = now - last < std::chrono::milliseconds(1);
            left = step = is_short ? std::min(2 * step, most) : 1;
            last = now;
        }
        part.next = i;
    }
};

class pool {
public:
    std::mutex one_call; // held while workers run the tasks of a call
    std::atomic<int> threads{0};

    // Shares that the workers have not begun when the caller is through with its own are the
    // caller's, too: a call that is shorter than they take to wake up does not wait for them.
    void run(const job& work) {
        const int helpers = start(work.count - 1);
        if (helpers == 0)
            return work.run();
        {
            std::lock_guard<std::mutex> lock(state);
            current = work;
            places = helpers;
            ++generation;
        }
        wake.notify_all();
        std::exception_ptr first = failure_of(work);
        std::unique_lock<std::mutex> lock(state);
        places = 0;
        done.wait(lock, [&] { return active == 0; });
        if (!first)
            first = failure;
        failure = nullptr;
        if (first)
            std::rethrow_exception(first);
    }

private:
    std::mutex state;
    std::condition_variable wake, done;
    int workers = 0;
    job current{};
    int places = 0, active = 0; // workers that may still begin the call, and that are at it
    unsigned long generation = 0;
    std::exception_ptr failure; // of a worker, such as bad_alloc: the caller throws it

    static std::exception_ptr failure_of(const job& work) {
        try {
            work.run();
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }

    // The number of workers, at most `wanted`.
    int start(int wanted) {
        try {
            for (; workers < wanted; ++workers)
                std::thread([this, seen = generation] { serve(seen); }).detach();
        } catch (const std::system_error&) { // of processes or address space there are no more
        } catch (const std::bad_alloc&) {
        }
        return std::min(workers, wanted);
    }

    void serve(unsigned long seen) {
        float_environment environment;
        std::unique_lock<std::mutex> lock(state);
        for (;;) {
            wake.wait(lock, [&] { return generation != seen; });
            seen = generation;
            if (places == 0)
                continue;
            --places;
            ++active;
            const job work = current;
            lock.unlock();
            const std::exception_ptr thrown = failure_of(work);
            lock.lock();
            if (thrown)
                failure = thrown;
            if (--active == 0)
                done.notify_one();
        }
    }
};

// Threads do not survive a fork, and their locks may be held at that moment: the child begins with
// a new pool. The pool is never destroyed, because its sleeping workers outlive static destructors.
pool* instance = nullptr;

void (*pause_function)() = nullptr;

thread_local kernel_call* current_call = nullptr;
// When this thread began a call, or ended its last pause.
thread_local clock::time_point resumed;

std::vector<share> cut(std::ptrdiff_t tasks, int threads) {
    const std::ptrdiff_t count = std::min(tasks, std::ptrdiff_t(threads));
    std::vector<share> shares;
    for (std::ptrdiff_t i = 0; i < count; ++i)
        shares.push_back({tasks * i / count, tasks * (i + 1) / count});
    return shares;
}

constexpr int most_threads = 1024;

int configured_threads() {
    const char* text = std::getenv("MDQR_NUM_THREADS");
    if (!text || !*text)
        return available_cpus();
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if (*end || n < 1 || n > most_threads)
        throw std::invalid_argument("MDQR_NUM_THREADS is '" + std::string(text) +
                                    "'; it must be a whole number from 1 to 1024");
    return int(n);
}

pool& the_pool() {
    static std::once_flag once;
    std::call_once(once, [] {
        const int threads = configured_threads();
        instance = new pool;
        instance->threads = threads;
#if !defined(_WIN32) // where no process forks
        pthread_atfork([] { instance->one_call.lock(); }, [] { instance->one_call.unlock(); },
                       [] {
                           const int threads = instance->threads;
                           instance = new pool;
                           instance->threads = threads;
                       });
#endif
    });
    return *instance;
}

} // namespace

#if defined(__SSE2__)
// Kernels use no other unit than this one, and the whole environment takes ten times as long.
void float_environment::enter() {
    const unsigned mode = _mm_getcsr();
    std::memcpy(saved, &mode, sizeof mode);
    _mm_setcsr(0x1f80); // as a process begins
}

void float_environment::leave() {
    unsigned mode;
    std::memcpy(&mode, saved, sizeof mode);
    _mm_setcsr(mode);
}
#else
void float_environment::enter() {
    static_assert(sizeof(std::fenv_t) <= sizeof saved, "room for the environment");
    std::fenv_t environment;
    std::fegetenv(&environment);
    std::memcpy(saved, &environment, sizeof environment);
    std::fesetenv(FE_DFL_ENV);
}

void float_environment::leave() {
    std::fenv_t environment;
    std::memcpy(&environment, saved, sizeof environment);
    std::fesetenv(&environment);
}
#endif

bool rounds_to_nearest() {
#if defined(__SSE2__)
    return (_mm_getcsr() & 0x6000u) == 0;
#else
    return std::fegetround() == FE_TONEAREST;
#endif
}

kernel_call::kernel_call() : outer(current_call) {
    current_call = this;
    resumed = clock::now();
}

kernel_call::~kernel_call() { current_call = outer; }

// What the pause leaves as the floating-point environment is the caller's, not the kernel's.
void kernel_call::pause() {
    struct outside {
        float_environment& environment;
        explicit outside(float_environment& environment) : environment(environment) {
            environment.leave();
        }
        ~outside() { environment.enter(); }
    };
    if (pause_function) {
        outside caller(environment);
        pause_function();
    }
    resumed = clock::now();
}

int available_cpus() {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        const int n = CPU_COUNT(&set);
        if (n > 0)
            return n;
    }
#elif defined(_WIN32)
    DWORD_PTR process = 0, system = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system) && process != 0)
        return __builtin_popcountll(process);
#endif
    const unsigned n = std::thread::hardware_concurrency();
    return n > 0 ? int(n) : 1;
}

int num_threads() { return the_pool().threads; }

void set_num_threads(int n) {
    if (n > most_threads)
        throw std::invalid_argument("the number of threads is at most 1024");
    the_pool().threads = n > 0 ? n : configured_threads();
}

void set_pause(void (*function)()) { pause_function = function; }

void run_tasks(std::ptrdiff_t tasks, void (*task)(void*, std::ptrdiff_t), void* context) {
    std::vector<share> shares;
    for (bool done = tasks <= 0; !done;) {
        // A pause may have forked: the child has another pool.
        pool& p = the_pool();
        if (shares.empty())
            shares = cut(tasks, p.threads);
        std::atomic<int> next{0};
        const job work{
            task, context, shares.data(), &next, int(shares.size()), resumed + longest_run};
        // What one thread computes, or others keep the workers from, waits for nobody.
        std::unique_lock<std::mutex> lock(p.one_call, std::defer_lock);
        if (work.count > 1 && lock.try_lock()) {
            p.run(work);
            lock.unlock();
        } else {
            work.run();
        }
        done = std::all_of(shares.begin(), shares.end(),
                           [](const share& part) { return part.next == part.end; });
        // A call of many short rounds pauses as well.
        if (!done || clock::now() >= resumed + longest_run)
            current_call->pause();
    }
}

} // namespace mdqr_host
