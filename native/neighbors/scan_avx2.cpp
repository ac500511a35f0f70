#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace xtrellis::neighbors::avx2 {
namespace {

// For each mask: which of the next codes goes to which row; 128: none.
struct Places {
    std::uint8_t of[256][8];
    constexpr Places() : of() {
        for (int mask = 0; mask < 256; ++mask) {
            std::uint8_t next = 0;
            for (int i = 0; i < 8; ++i) of[mask][i] = (mask >> i) & 1 ? next++ : 128;
        }
    }
};
constexpr Places places;

}  // namespace

// 64 entries are compared at once with all keys that are wanted, 8 rows are added to at once. Up to 128
// bytes behind the last code are read.
__attribute__((target("popcnt,bmi"))) std::size_t bound_rows(const std::uint8_t* keys, const std::uint8_t* masks,
                                                             const std::uint8_t* codes, std::size_t entries,
                                                             std::size_t values, const std::uint16_t* wanted,
                                                             std::size_t n_wanted, const std::uint16_t* weights,
                                                             std::uint32_t* hits, std::uint16_t* sums) {
    std::size_t found = 0, counted = 0, before = 0;  // values of the first `counted` entries
    const __m128i one = _mm_set1_epi16(1), zero = _mm_setzero_si128();
    __m128i sum = zero;
    for (std::size_t i = 0; i < entries; i += 64) {
        __m256i here[4], any[4];
        for (int j = 0; j < 4; ++j) {
            here[j] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + 2 * i) + j);
            any[j] = _mm256_setzero_si256();
        }
        for (std::size_t w = 0; w < n_wanted; ++w) {
            const __m256i key = _mm256_set1_epi16(static_cast<short>(wanted[w]));
            for (int j = 0; j < 4; ++j) any[j] = _mm256_or_si256(any[j], _mm256_cmpeq_epi16(here[j], key));
        }
        // The halves of 128 bits go in turns into packed bytes: put back in order.
        const auto packed = [](__m256i low, __m256i high) {
            const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
            return std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(both))};
        };
        std::uint64_t bits = packed(any[0], any[1]) | packed(any[2], any[3]) << 32;
        if (entries - i < 64) bits &= (std::uint64_t{1} << (entries - i)) - 1;
        for (; bits; bits &= bits - 1) {
            const std::size_t entry = i + static_cast<std::size_t>(__builtin_ctzll(bits));
            std::uint64_t eight;
            std::memcpy(&eight, masks + counted, 8);
            for (; counted + 8 <= entry; std::memcpy(&eight, masks + counted, 8)) {
                before += static_cast<std::size_t>(__builtin_popcountll(eight));
                counted += 8;
            }
            const std::uint64_t earlier = eight & ((std::uint64_t{1} << 8 * (entry - counted)) - 1);
            const std::size_t value = before + static_cast<std::size_t>(__builtin_popcountll(earlier));
            const std::uint8_t mask = masks[entry];
            if (value + static_cast<std::size_t>(__builtin_popcount(mask)) > values) {  // damaged
                _mm_storeu_si128(reinterpret_cast<__m128i*>(sums), sum);
                return found;
            }
            const __m128i some = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + value));
            const __m128i where = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places.of[mask]));
            const __m128i high = _mm_unpacklo_epi8(zero, _mm_shuffle_epi8(some, where));  // times 256
            std::uint16_t key;
            std::memcpy(&key, keys + 2 * entry, 2);
            const __m128i weight = _mm_set1_epi16(static_cast<short>(weights[key]));
            const __m128i more = _mm_add_epi16(one, _mm_cmpeq_epi16(high, zero));
            sum = _mm_adds_epu16(sum, _mm_add_epi16(_mm_mulhi_epu16(high, weight), more));
            hits[2 * found] = static_cast<std::uint32_t>(entry);
            hits[2 * found++ + 1] = static_cast<std::uint32_t>(value);
        }
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums), sum);
    return found;
}

}  // namespace xtrellis::neighbors::avx2
#endif
