// Reading the buckets of a block (model.hpp).
//
// A model file's offsets by block are checked when it is opened; what lies inside the blocks is not, since that would
// read the whole file. Everything here stays inside the block whatever its bytes say.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/dispatch.hpp"
#include "search/model.hpp"

namespace xtrellis::search {

template <class T>
XTRELLIS_INLINE T read(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// Two bits for each of the eight keys at `at` that equals `wanted`.
XTRELLIS_INLINE std::uint32_t equal_keys(const std::uint8_t* at, std::uint16_t wanted) {
#if defined(__SSE2__)
    const __m128i keys = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi16(keys, _mm_set1_epi16(static_cast<std::int16_t>(wanted)))));
#else
    std::uint32_t equal = 0;
    for (int i = 0; i < 8; ++i) equal |= (read<std::uint16_t>(at + 2 * i) == wanted ? 3u : 0u) << (2 * i);
    return equal;
#endif
}

// The entries of one feature.
template <class Value>
struct Entries {
    const std::uint8_t* children = nullptr;
    const std::uint8_t* values = nullptr;
    std::uint32_t count = 0;

    XTRELLIS_INLINE float value(std::uint32_t i) const { return static_cast<float>(read<Value>(values + i * sizeof(Value))); }
};

template <class Value>
struct Bucket {
    const std::uint8_t* begin = nullptr;
    std::uint32_t rows = 0, entries = 0;

    Bucket() = default;
    XTRELLIS_INLINE Bucket(const std::uint8_t* from, std::uint32_t size) : begin(from) {
        if (size < 2) return;
        const std::uint32_t n = read<std::uint16_t>(from);
        if (2 + 4 * n > size) return;
        rows = n;
        entries = (size - 2 - 4 * n) / (1 + static_cast<std::uint32_t>(sizeof(Value)));
    }
    XTRELLIS_INLINE std::uint16_t key(std::uint32_t row) const { return read<std::uint16_t>(begin + 2 + 2 * row); }
    XTRELLIS_INLINE std::uint32_t end(std::uint32_t row) const {
        return std::min<std::uint32_t>(read<std::uint16_t>(begin + 2 + 2 * (rows + row)), entries);
    }
    XTRELLIS_INLINE Entries<Value> operator[](std::uint32_t row) const {
        const std::uint32_t from = row ? end(row - 1) : 0, to = end(row);
        const std::uint8_t* children = begin + 2 + 4 * rows;
        return {children + from, children + entries + from * sizeof(Value), to > from ? to - from : 0};
    }
    // The row with this key, eight keys at a time; `rows` if there is none.
    XTRELLIS_INLINE std::uint32_t find(std::uint16_t wanted) const {
        for (std::uint32_t row = 0; row < rows; row += 8) {
            const std::uint32_t equal = equal_keys(begin + 2 + 2 * row, wanted);
            if (equal) return std::min(rows, row + static_cast<std::uint32_t>(std::countr_zero(equal)) / 2);
        }
        return rows;
    }
};

template <class Value>
struct Block {
    const std::uint32_t* buckets;
    const std::uint8_t* bytes;
    std::uint32_t size, count;
    int shift;  // low bits of a scattered id that are its key
    float scale;

    Block(const Weights& w, Offset b)
        : buckets(w.buckets + w.bucket_offsets[b]), bytes(w.bytes + w.byte_offsets[b]),
          size(static_cast<std::uint32_t>(w.byte_offsets[b + 1] - w.byte_offsets[b])),
          count(static_cast<std::uint32_t>(w.bucket_offsets[b + 1] - w.bucket_offsets[b] - 1)),
          shift(w.bits - (std::bit_width(count) - 1)), scale(w.scales[b]) {}

    XTRELLIS_INLINE std::uint32_t bucket_of(std::uint32_t scattered) const {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(scattered) >> shift);
    }
    XTRELLIS_INLINE std::uint16_t key_of(std::uint32_t scattered) const {
        return static_cast<std::uint16_t>(scattered & ((std::uint64_t{1} << shift) - 1));
    }
    XTRELLIS_INLINE Bucket<Value> operator[](std::uint32_t j) const {
        const std::uint32_t from = std::min(buckets[j], size), to = std::min(buckets[j + 1], size);
        return {bytes + from, to > from ? to - from : 0};
    }
};

}  // namespace xtrellis::search
