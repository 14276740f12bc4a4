// A pool of threads with a static partition. Workers sleep when idle and serve one call at a time;
// a call that comes meanwhile runs in its own thread alone.
#pragma once
#include <cstddef>

namespace mdqr_host {

// Call task(context, i) for every i in [0, tasks): thread t of T takes a contiguous share. Which
// thread runs a task must not matter. The caller's thread is within a `kernel_call`.
//
// Where no thread can be started, the others take its share.
void run_tasks(std::ptrdiff_t tasks, void (*task)(void*, std::ptrdiff_t), void* context);

// Round to nearest without flushing; afterwards the floating-point environment there was.
class float_environment {
public:
    float_environment() { enter(); }
    ~float_environment() { leave(); }
    float_environment(const float_environment&) = delete;
    float_environment& operator=(const float_environment&) = delete;

    void enter();
    void leave();

private:
    alignas(16) unsigned char saved[64];
};

// A tenth of a second after its beginning, and so on, a call lets other calls in and pauses in its
// caller's thread, between two tasks and in the caller's floating-point environment; what the pause
// throws ends the call.
class kernel_call {
public:
    kernel_call();
    ~kernel_call();
    kernel_call(const kernel_call&) = delete;
    kernel_call& operator=(const kernel_call&) = delete;

private:
    friend void run_tasks(std::ptrdiff_t, void (*)(void*, std::ptrdiff_t), void*);
    void pause();

    float_environment environment;
    kernel_call* const outer; // the one in whose pause this one runs
};

// Whether this thread rounds to nearest.
bool rounds_to_nearest();

void set_pause(void (*pause)());

int num_threads();
void set_num_threads(int n); // 0: the number of CPUs this process may use
int available_cpus();

} // namespace mdqr_host
