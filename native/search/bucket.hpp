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
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#define XTRELLIS_NEON
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

// One bit for each of the next sixteen (or eight two-byte) keys at `at` that equals `wanted`; two bits if they are
// wide.
template <class Key>
XTRELLIS_INLINE std::uint32_t equal_keys(const std::uint8_t* at, Key wanted) {
#if defined(__SSE2__)
    const __m128i keys = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    if constexpr (sizeof(Key) == 1) {
        return static_cast<std::uint32_t>(
            _mm_movemask_epi8(_mm_cmpeq_epi8(keys, _mm_set1_epi8(static_cast<char>(wanted)))));
    } else {
        return static_cast<std::uint32_t>(
            _mm_movemask_epi8(_mm_cmpeq_epi16(keys, _mm_set1_epi16(static_cast<std::int16_t>(wanted)))));
    }
#elif defined(XTRELLIS_NEON)
    // No instruction collects the highest bits: each lane keeps the bits of its place, and halves are added up.
    if constexpr (sizeof(Key) == 1) {
        alignas(16) static constexpr std::uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                                                1, 2, 4, 8, 16, 32, 64, 128};
        const uint8x16_t met = vandq_u8(vceqq_u8(vld1q_u8(at), vdupq_n_u8(wanted)), vld1q_u8(places));
        return vaddv_u8(vget_low_u8(met)) | static_cast<std::uint32_t>(vaddv_u8(vget_high_u8(met))) << 8;
    } else {
        alignas(16) static constexpr std::uint16_t places[8] = {3, 12, 48, 192, 768, 3072, 12288, 49152};
        const uint16x8_t keys = vreinterpretq_u16_u8(vld1q_u8(at));
        return vaddvq_u16(vandq_u16(vceqq_u16(keys, vdupq_n_u16(wanted)), vld1q_u16(places)));
    }
#else
    constexpr std::uint32_t bits = sizeof(Key) == 1 ? 1u : 3u;
    std::uint32_t equal = 0;
    for (std::size_t i = 0; i < 16; i += sizeof(Key)) equal |= (read<Key>(at + i) == wanted ? bits : 0u) << i;
    return equal;
#endif
}

// The sum of the first `n` bytes at `at`.
XTRELLIS_INLINE std::uint32_t sum_bytes(const std::uint8_t* at, std::uint32_t n) {
    std::uint32_t sum = 0;
    for (; n >= 8; n -= 8, at += 8) [[unlikely]] {
        for (int i = 0; i < 8; ++i) sum += at[i];
    }
    const std::uint64_t last = read<std::uint64_t>(at) & ((std::uint64_t{1} << (8 * n)) - 1);
#if defined(__SSE2__)
    const __m128i bytes = _mm_cvtsi64_si128(static_cast<std::int64_t>(last));
    return sum + static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_sad_epu8(bytes, _mm_setzero_si128())));
#elif defined(XTRELLIS_NEON)
    return sum + vaddlv_u8(vcreate_u8(last));
#else
    for (std::uint64_t rest = last; rest; rest >>= 8) sum += static_cast<std::uint32_t>(rest & 255);
    return sum;
#endif
}

// The entries of one feature. Nothing is set beforehand: searches have arrays of these.
template <class Value>
struct Entries {
    const std::uint8_t* children;
    const std::uint8_t* values;
    std::uint32_t count;

    XTRELLIS_INLINE float value(std::uint32_t i) const {
        return static_cast<float>(read<Value>(values + i * sizeof(Value)));
    }
};

template <class Value, class Key>
struct Bucket {
    static constexpr std::uint32_t row_size = sizeof(Key) + 1;
    const std::uint8_t* keys = nullptr;
    std::uint32_t rows = 0, entries = 0;

    Bucket() = default;
    XTRELLIS_INLINE Bucket(const std::uint8_t* from, std::uint32_t size) : keys(from + 1) {
        if (size == 0) return;
        const std::uint32_t n = *from;
        if (1 + row_size * n > size) return;
        rows = n;
        entries = (size - 1 - row_size * n) / (1 + static_cast<std::uint32_t>(sizeof(Value)));
    }
    XTRELLIS_INLINE Key key(std::uint32_t row) const { return read<Key>(keys + row * sizeof(Key)); }
    // The row with this key, sixteen bytes of keys at a time; `rows` if there is none.
    XTRELLIS_INLINE std::uint32_t find(Key wanted) const {
        for (std::uint32_t row = 0; row < rows; row += 16 / sizeof(Key)) {
            const std::uint32_t equal = equal_keys(keys + row * sizeof(Key), wanted);
            if (equal) {
                const auto byte = static_cast<std::uint32_t>(std::countr_zero(equal));
                return std::min(rows, row + byte / static_cast<std::uint32_t>(sizeof(Key)));
            }
        }
        return rows;
    }
    XTRELLIS_INLINE Entries<Value> operator[](std::uint32_t row) const {
        return at(row, row + sum_bytes(counts(), row));
    }
    // The entries of a row that has `before` of them before it.
    XTRELLIS_INLINE Entries<Value> at(std::uint32_t row, std::uint32_t before) const {
        const std::uint32_t from = std::min(before, entries), count = std::min(counts()[row] + 1u, entries - from);
        const std::uint8_t* children = keys + row_size * rows;
        return {children + from, children + entries + from * sizeof(Value), count};
    }

private:
    XTRELLIS_INLINE const std::uint8_t* counts() const { return keys + sizeof(Key) * rows; }
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
    XTRELLIS_INLINE std::uint32_t key_of(std::uint32_t scattered) const {
        return static_cast<std::uint32_t>(scattered & ((std::uint64_t{1} << shift) - 1));
    }
    template <class Key>
    XTRELLIS_INLINE Bucket<Value, Key> bucket(std::uint32_t j) const {
        const std::uint32_t from = std::min(buckets[j], size), to = std::min(buckets[j + 1], size);
        return {bytes + from, to > from ? to - from : 0};
    }
    // Calls use(Key{}) with the type of this block's keys.
    template <class Use>
    XTRELLIS_INLINE void with_keys(Use&& use) const {
        if (narrow(shift)) use(std::uint8_t{});
        else use(std::uint16_t{});
    }
    // Calls use(scattered id, entries) for every feature.
    template <class Use>
    XTRELLIS_INLINE void each(Use&& use) const {
        with_keys([&]<class Key>(Key) XTRELLIS_INLINED {
            for (std::uint32_t j = 0; j < count; ++j) {
                const auto in = bucket<Key>(j);
                std::uint32_t before = 0;
                for (std::uint32_t row = 0; row < in.rows; ++row) {
                    const auto entries = in.at(row, before);
                    before += entries.count;
                    use(static_cast<std::uint64_t>(j) << shift | in.key(row), entries);
                }
            }
        });
    }
};

}  // namespace xtrellis::search
