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
    std::size_t threshold = 0;              // bytes of arrays that are walked through; 0: never
    std::size_t probed = 0;                 // of those that are looked at here and there, which is slow in a file
    std::size_t kept = 0;                   // of a node's rows that stay in memory though the others go to a file
    std::map<void*, std::size_t> mappings;  // and their lengths
};

inline Spills& spills() {
    static Spills all;
    return all;
}

inline void spill_to(const std::string& folder, std::size_t threshold, std::size_t probed, std::size_t kept = 0) {
    const std::lock_guard lock(spills().mutex);
    spills().folder = folder;
    spills().threshold = threshold;
    spills().probed = probed;
    spills().kept = kept;
}

inline bool spills_rows(std::size_t bytes) {
    const std::lock_guard lock(spills().mutex);
    return spills().threshold != 0 && bytes >= spills().threshold;
}

inline void drop_spilled() {
#if defined(__linux__)
    const std::lock_guard lock(spills().mutex);
    for (const auto& [address, bytes] : spills().mappings) madvise(address, bytes, MADV_DONTNEED);
#endif
}

// The same of one array, if it is in a file.
inline void drop_spilled(const void* array) {
#if defined(__linux__)
    const std::lock_guard lock(spills().mutex);
    const auto found = spills().mappings.find(const_cast<void*>(array));
    if (found != spills().mappings.end()) madvise(found->first, found->second, MADV_DONTNEED);
#else
    (void)array;
#endif
}

// A file without a name, for somebody who holds the lock; -1 if the system has none.
inline int unnamed_file(const std::string& folder) {
#if defined(__linux__)
    std::string name = folder + "/xtrellis-XXXXXX";
    const int file = mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) throw std::runtime_error("cannot put arrays into " + folder);
    unlink(name.c_str());
    return file;
#else
    (void)folder;
    return -1;
#endif
}

// Memory of a file, or null if so much shall stay in memory; throws if the disk is full.
inline void* spilled(std::size_t bytes, bool probed) {
#if defined(__linux__)
    Spills& all = spills();
    const std::lock_guard lock(all.mutex);
    const std::size_t threshold = probed ? all.probed : all.threshold;
    if (threshold == 0 || bytes < threshold) return nullptr;
    const int file = unnamed_file(all.folder);
    void* memory = MAP_FAILED;
    if (posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0)  // now: later a full disk would end the process
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot put arrays into " + all.folder + " (no room)");
    all.mappings.emplace(memory, bytes);
    return memory;
#else
    (void)bytes, (void)probed;
    return nullptr;
#endif
}

template <class T, bool Probed = false>
struct SpillAllocator {
    using value_type = T;
    template <class U>
    struct rebind {
        using other = SpillAllocator<U, Probed>;
    };
    SpillAllocator() = default;
    template <class U>
    SpillAllocator(const SpillAllocator<U, Probed>&) {}

    static constexpr std::size_t least = std::size_t{1} << 16;  // smaller ones are never looked up

    T* allocate(std::size_t n) {
        if (n > ~std::size_t{0} / sizeof(T) / 2) throw std::bad_alloc();
        const auto bytes = n * sizeof(T);
        if (bytes >= least)
            if (void* file = spilled(bytes, Probed)) return static_cast<T*>(file);
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

// One that is walked through, and one that is looked at here and there.
template <class T>
using Spilling = std::vector<T, SpillAllocator<T>>;
template <class T>
using SpillingProbed = std::vector<T, SpillAllocator<T, true>>;

}  // namespace xtrellis
