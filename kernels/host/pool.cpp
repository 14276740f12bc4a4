#include "pool.hpp"

#include <cfenv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#if defined(__linux__)
#include <sched.h>
#endif

namespace mdqr_host {
namespace {

struct job {
    std::ptrdiff_t tasks;
    void (*task)(void*, std::ptrdiff_t);
    void* context;
    int threads;

    void run_share(int thread) const {
        const std::ptrdiff_t begin = tasks * thread / threads, end = tasks * (thread + 1) / threads;
        for (std::ptrdiff_t i = begin; i < end; ++i)
            task(context, i);
    }
};

class pool {
public:
    std::mutex one_call; // held for the length of a call
    int threads = 0;

    void run(const job& work) {
        start(work.threads - 1);
        {
            std::lock_guard<std::mutex> lock(state);
            current = work;
            pending = work.threads - 1;
            ++generation;
        }
        wake.notify_all();
        std::exception_ptr own = failure_of(work, 0);
        std::unique_lock<std::mutex> lock(state);
        done.wait(lock, [&] { return pending == 0; });
        if (!own)
            own = failure;
        failure = nullptr;
        if (own)
            std::rethrow_exception(own);
    }

private:
    std::mutex state;
    std::condition_variable wake, done;
    std::vector<std::thread> workers;
    job current{};
    int pending = 0;
    unsigned long generation = 0;
    std::exception_ptr failure; // of a worker, such as bad_alloc: the caller throws it

    static std::exception_ptr failure_of(const job& work, int thread) {
        try {
            work.run_share(thread);
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }

    void start(int wanted) {
        while (int(workers.size()) < wanted) {
            const int id = int(workers.size()) + 1;
            workers.emplace_back([this, id, seen = generation] { serve(id, seen); });
            workers.back().detach();
        }
    }

    void serve(int id, unsigned long seen) {
        float_environment environment;
        std::unique_lock<std::mutex> lock(state);
        for (;;) {
            wake.wait(lock, [&] { return generation != seen; });
            seen = generation;
            if (id >= current.threads)
                continue;
            const job work = current;
            lock.unlock();
            const std::exception_ptr thrown = failure_of(work, id);
            lock.lock();
            if (thrown)
                failure = thrown;
            if (--pending == 0)
                done.notify_one();
        }
    }
};

// Threads do not survive a fork, and their locks may be held at that moment: the child begins with
// a new pool. The pool is never destroyed, because its sleeping workers outlive static destructors.
pool* instance = nullptr;

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
        pthread_atfork([] { instance->one_call.lock(); }, [] { instance->one_call.unlock(); },
                       [] {
                           const int threads = instance->threads;
                           instance = new pool;
                           instance->threads = threads;
                       });
    });
    return *instance;
}

} // namespace

float_environment::float_environment() {
    static_assert(sizeof(std::fenv_t) <= sizeof saved, "room for the environment");
    std::fenv_t environment;
    std::fegetenv(&environment);
    std::memcpy(saved, &environment, sizeof environment);
    std::fesetenv(FE_DFL_ENV);
}

float_environment::~float_environment() {
    std::fenv_t environment;
    std::memcpy(&environment, saved, sizeof environment);
    std::fesetenv(&environment);
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
#endif
    const unsigned n = std::thread::hardware_concurrency();
    return n > 0 ? int(n) : 1;
}

int num_threads() { return the_pool().threads; }

void set_num_threads(int n) {
    if (n > most_threads)
        throw std::invalid_argument("the number of threads is at most 1024");
    pool& p = the_pool();
    std::lock_guard<std::mutex> lock(p.one_call);
    p.threads = n > 0 ? n : configured_threads();
}

void run_tasks(std::ptrdiff_t tasks, void (*task)(void*, std::ptrdiff_t), void* context) {
    float_environment environment;
    pool& p = the_pool();
    std::lock_guard<std::mutex> lock(p.one_call);
    const int threads = tasks < p.threads ? int(tasks) : p.threads;
    const job work{tasks, task, context, threads};
    if (threads <= 1) {
        for (std::ptrdiff_t i = 0; i < tasks; ++i)
            task(context, i);
    } else {
        p.run(work);
    }
}

} // namespace mdqr_host
