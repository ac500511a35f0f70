// Threads that take steps together: a barrier that spins, since a step takes microseconds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

namespace xtrellis::softmax {

class Team {
public:
    explicit Team(int size) : size_(size) {}
    int size() const { return size_; }

    // Wait until all members are here, before the first step of a piece of work; gives up after `seconds`, so that a
    // thread that could not be started does not leave the others spinning.
    void gather(double seconds = 60) {
        if (size_ == 1) return;
        const auto mine = present_.fetch_add(1) / static_cast<std::uint64_t>(size_);  // which gathering this is
        const auto all = (mine + 1) * static_cast<std::uint64_t>(size_);
        const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (present_.load() < all) {
            if (broken_.load() || std::chrono::steady_clock::now() > limit) {
                broken_.store(true);
                throw std::runtime_error("training threads did not start together");
            }
            std::this_thread::yield();
        }
        if (broken_.load()) throw std::runtime_error("training threads did not start together");
    }

    // Everything written before it is seen by all after it.
    void meet() {
        if (size_ == 1) return;
        const auto phase = phase_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
            arrived_.store(0, std::memory_order_relaxed);
            phase_.store(phase + 1, std::memory_order_release);
            return;
        }
        for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
            if (spins > 300) {
                std::this_thread::yield();  // somebody else has the core
            } else {
#if defined(__x86_64__)
                __builtin_ia32_pause();
#endif
            }
        }
    }

private:
    const int size_;
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<std::uint32_t> phase_{0};
    alignas(64) std::atomic<std::uint64_t> present_{0};
    std::atomic<bool> broken_{false};
};

}  // namespace xtrellis::softmax
