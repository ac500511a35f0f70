// Vectors for large, randomly probed arrays: from 4 MiB on they ask the system for huge pages, which spares most of
// the page faults while they grow and most of the address look-ups while they are probed.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace xtrellis {

template <class T>
struct RoomyAllocator {
    using value_type = T;
    RoomyAllocator() = default;
    template <class U>
    RoomyAllocator(const RoomyAllocator<U>&) {}

    T* allocate(std::size_t n) {
        constexpr std::size_t page = std::size_t{2} << 20;
        if (n > (~std::size_t{0} - page) / sizeof(T)) throw std::bad_alloc();
        const auto bytes = n * sizeof(T);
        if (bytes < 2 * page) {
            if (void* small = std::malloc(bytes ? bytes : 1)) return static_cast<T*>(small);
            throw std::bad_alloc();
        }
        const auto whole = (bytes + page - 1) / page * page;
        void* large = std::aligned_alloc(page, whole);
        if (!large) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        madvise(large, whole, MADV_HUGEPAGE);  // only a wish: without it everything works, slower
#endif
        return static_cast<T*>(large);
    }
    void deallocate(T* p, std::size_t) { std::free(p); }
    bool operator==(const RoomyAllocator&) const { return true; }
};

template <class T>
using Roomy = std::vector<T, RoomyAllocator<T>>;

}  // namespace xtrellis
