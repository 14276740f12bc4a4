// Giving Python's lock away for a kernel, and taking it back.
#pragma once
#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>
#include <utility>

namespace mdqr_host {

// Before 3.14 Python ends a thread that asks for the GIL after the main thread has ended: it
// unwinds its stack, which destructors and nanobind do not bear. Such a thread sleeps until the
// process ends.
inline void take_gil(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;)
            std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

inline thread_local PyThreadState* released = nullptr;

class released_gil {
public:
    released_gil() { released = PyEval_SaveThread(); }
    ~released_gil() { take_gil(std::exchange(released, nullptr)); }
    released_gil(const released_gil&) = delete;
    released_gil& operator=(const released_gil&) = delete;
};

class taken_gil {
public:
    taken_gil() { take_gil(std::exchange(released, nullptr)); }
    ~taken_gil() { released = PyEval_SaveThread(); }
    taken_gil(const taken_gil&) = delete;
    taken_gil& operator=(const taken_gil&) = delete;
};

} // namespace mdqr_host
