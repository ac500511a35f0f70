// Vectors that go to a file when they are large: training in less memory than one node's rows take.
//
// `spill_to` says where and from what size on; by default nothing is spilled. The file has no name and goes with the
// vector. Its pages count as memory while they are mapped, and `drop_spilled` (on any thread, at any time) lets them
// go: whoever looks at one gets it back from the file.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace xtrellis {

struct Spills {
    std::mutex mutex;
    std::string folder;
    std::size_t threshold = 0;              // bytes; 0: never
    std::map<void*, std::size_t> mappings;  // and their lengths
};

inline Spills& spills() {
    static Spills all;
    return all;
}

inline void spill_to(const std::string& folder, std::size_t threshold) {
    const std::lock_guard lock(spills().mutex);
    spills().folder = folder;
    spills().threshold = threshold;
}

inline void drop_spilled() {
#if defined(__linux__)
    const std::lock_guard lock(spills().mutex);
    for (const auto& [address, bytes] : spills().mappings) madvise(address, bytes, MADV_DONTNEED);
#endif
}

// Memory of a file, or null if so much shall stay in memory; throws if the disk is full.
inline void* spilled(std::size_t bytes) {
#if defined(__linux__)
    Spills& all = spills();
    const std::lock_guard lock(all.mutex);
    if (all.threshold == 0 || bytes < all.threshold) return nullptr;
    std::string name = all.folder + "/xtrellis-XXXXXX";
    const int file = mkstemp(name.data());
    if (file < 0) throw std::runtime_error("cannot put arrays into " + all.folder);
    unlink(name.c_str());
    void* memory = MAP_FAILED;
    if (posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0)  // now: later a full disk would end the process
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot put arrays into " + all.folder + " (no room)");
    all.mappings.emplace(memory, bytes);
    return memory;
#else
    (void)bytes;
    return nullptr;
#endif
}

template <class T>
struct SpillAllocator {
    using value_type = T;
    SpillAllocator() = default;
    template <class U>
    SpillAllocator(const SpillAllocator<U>&) {}

    static constexpr std::size_t least = std::size_t{1} << 16;  // smaller ones are never looked up

    T* allocate(std::size_t n) {
        if (n > ~std::size_t{0} / sizeof(T) / 2) throw std::bad_alloc();
        const auto bytes = n * sizeof(T);
        if (bytes >= least)
            if (void* file = spilled(bytes)) return static_cast<T*>(file);
        if (void* memory = std::malloc(bytes ? bytes : 1)) return static_cast<T*>(memory);
        throw std::bad_alloc();
    }
    void deallocate(T* p, std::size_t n) {
#if defined(__linux__)
        if (n * sizeof(T) >= least) {
            Spills& all = spills();
            const std::lock_guard lock(all.mutex);
            if (const auto found = all.mappings.find(p); found != all.mappings.end()) {
                munmap(found->first, found->second);
                all.mappings.erase(found);
                return;
            }
        }
#endif
        std::free(p);
    }
    bool operator==(const SpillAllocator&) const { return true; }
};

template <class T>
using Spilling = std::vector<T, SpillAllocator<T>>;

}  // namespace xtrellis
