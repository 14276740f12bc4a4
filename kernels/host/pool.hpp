// A pool of threads with a static partition. Workers sleep when idle; one call runs at a time.
#pragma once
#include <cstddef>

namespace mdqr_host {

// Call task(context, i) for every i in [0, tasks): thread t of T takes a contiguous share. Which
// thread runs a task must not matter. Round to nearest without flushing is set in every thread
// meanwhile.
//
// Where no thread can be started, the others take its share.
void run_tasks(std::ptrdiff_t tasks, void (*task)(void*, std::ptrdiff_t), void* context);

// A tenth of a second after its beginning, and so on, a call lets other calls in and pauses in its
// caller's thread; what the pause throws ends the call.
void begin_call();
void set_pause(void (*pause)());

// For the duration of a call: round to nearest, no flushing; afterwards the caller's floating-point
// environment.
class float_environment {
public:
    float_environment();
    ~float_environment();
    float_environment(const float_environment&) = delete;
    float_environment& operator=(const float_environment&) = delete;

private:
    alignas(16) unsigned char saved[64];
};

int num_threads();
void set_num_threads(int n); // 0: the number of CPUs this process may use
int available_cpus();

} // namespace mdqr_host
