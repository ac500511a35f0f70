#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace xtrellis::neighbors::avx2 {
namespace {

// For each mask: which of the next halves goes to which row; 128: none.
struct Places {
    std::uint8_t of[256][16];
    constexpr Places() : of() {
        for (int mask = 0; mask < 256; ++mask) {
            std::uint8_t next = 0;
            for (int i = 0; i < 8; ++i) {
                const bool there = (mask >> i) & 1;
                of[mask][2 * i] = there ? next++ : 128;
                of[mask][2 * i + 1] = there ? next++ : 128;
            }
        }
    }
};
constexpr Places places;

// The hexadecimal digits of 32 keys, the lowest first.
struct Digits {
    __m256i of[4];
};

}  // namespace

// 64 entries go through the sieves at once, 8 rows are added to at once. Up to 128 bytes behind the last of the upper
// halves are read.
__attribute__((target("popcnt,bmi"))) std::size_t bound_rows(const std::uint8_t* keys, const std::uint8_t* masks,
                                                             const std::uint8_t* uppers, std::size_t entries,
                                                             std::size_t values, const std::uint8_t* sieves,
                                                             std::size_t n_sieves, const float* weights,
                                                             std::uint32_t* hits, float* sums) {
    std::size_t found = 0, counted = 0, before = 0;  // values of the first `counted` entries
    const __m128i none = _mm_setzero_si128();
    const __m256i zero = _mm256_setzero_si256(), digit = _mm256_set1_epi8(15), byte = _mm256_set1_epi16(255);
    __m256 sum = _mm256_setzero_ps();
    for (std::size_t i = 0; i < entries; i += 64) {
        Digits of[2];
        for (int j = 0; j < 2; ++j) {
            const auto* at = reinterpret_cast<const __m256i*>(keys + 2 * i) + 2 * j;
            const __m256i first = _mm256_loadu_si256(at), second = _mm256_loadu_si256(at + 1);
            const __m256i low = _mm256_packus_epi16(_mm256_and_si256(first, byte), _mm256_and_si256(second, byte));
            const __m256i high = _mm256_packus_epi16(_mm256_srli_epi16(first, 8), _mm256_srli_epi16(second, 8));
            of[j].of[0] = _mm256_and_si256(low, digit);
            of[j].of[1] = _mm256_and_si256(_mm256_srli_epi16(low, 4), digit);
            of[j].of[2] = _mm256_and_si256(high, digit);
            of[j].of[3] = _mm256_and_si256(_mm256_srli_epi16(high, 4), digit);
        }
        __m256i any[2] = {zero, zero};
        for (std::size_t sieve = 0; sieve < n_sieves; ++sieve) {
            __m256i both[2] = {_mm256_set1_epi8(-1), _mm256_set1_epi8(-1)};
            for (int place = 0; place < 4; ++place) {
                const auto* at = reinterpret_cast<const __m128i*>(sieves) + 4 * sieve + static_cast<std::size_t>(place);
                const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(at));
                for (int j = 0; j < 2; ++j)
                    both[j] = _mm256_and_si256(both[j], _mm256_shuffle_epi8(table, of[j].of[place]));
            }
            for (int j = 0; j < 2; ++j) any[j] = _mm256_or_si256(any[j], both[j]);
        }
        // The halves of 128 bits went in turns into packed bytes: put back in order.
        const auto passed = [&](__m256i some) {
            const __m256i in_order = _mm256_permute4x64_epi64(_mm256_cmpeq_epi8(some, zero), 0xd8);
            return std::uint64_t{~static_cast<std::uint32_t>(_mm256_movemask_epi8(in_order))};
        };
        std::uint64_t bits = passed(any[0]) | passed(any[1]) << 32;
        if (entries - i < 64) bits &= (std::uint64_t{1} << (entries - i)) - 1;
        for (; bits; bits &= bits - 1) {
            const std::size_t entry = i + static_cast<std::size_t>(__builtin_ctzll(bits));
            std::uint16_t key;
            std::memcpy(&key, keys + 2 * entry, 2);
            if (weights[key] == 0) continue;
            std::uint64_t eight;
            std::memcpy(&eight, masks + counted, 8);
            for (; counted + 8 <= entry; std::memcpy(&eight, masks + counted, 8)) {
                before += static_cast<std::size_t>(__builtin_popcountll(eight));
                counted += 8;
            }
            const std::uint64_t earlier = eight & ((std::uint64_t{1} << 8 * (entry - counted)) - 1);
            const std::size_t value = before + static_cast<std::size_t>(__builtin_popcountll(earlier));
            const std::uint8_t mask = masks[entry];
            if (value + static_cast<std::size_t>(__builtin_popcount(mask)) > values) break;  // damaged
            const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(uppers + 2 * value));
            const __m128i where = _mm_loadu_si128(reinterpret_cast<const __m128i*>(places.of[mask]));
            const __m128i placed = _mm_shuffle_epi8(some, where);
            const __m256i bounds = _mm256_set_m128i(_mm_unpackhi_epi16(none, placed), _mm_unpacklo_epi16(none, placed));
            sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_castsi256_ps(bounds), _mm256_set1_ps(weights[key])));
            hits[2 * found] = static_cast<std::uint32_t>(entry);
            hits[2 * found++ + 1] = static_cast<std::uint32_t>(value);
        }
    }
    _mm256_storeu_ps(sums, sum);
    return found;
}

namespace {

// The smallest of eight is an instruction: that of what is missing to the largest number.
std::uint16_t largest_of(__m256i all) {
    const __m128i eight = _mm_max_epu16(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    const __m128i missing = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi16(-1)));
    return static_cast<std::uint16_t>(~_mm_cvtsi128_si32(missing));
}

}  // namespace

std::uint64_t rows_reaching(const std::uint16_t* sums, std::uint16_t least) {
    const __m256i bar = _mm256_set1_epi16(static_cast<short>(least));
    const auto reach = [&](int i) {
        const __m256i sum = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums) + i);
        return _mm256_cmpeq_epi16(_mm256_max_epu16(sum, bar), sum);
    };
    const auto bits = [&](int i) {
        const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(reach(i), reach(i + 1)), 0xd8);
        return std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(both))};
    };
    return bits(0) | bits(2) << 32;
}

// Sums of even and of odd rows, of 32 rows each, stay in registers: a pair of codes is 16 bits.
std::uint16_t add_group(std::uint16_t* sums, const std::uint8_t* codes, const std::uint16_t* terms,
                        std::size_t n_terms) {
    const __m256i upper = _mm256_set1_epi16(static_cast<short>(0xff00));
    __m256i even[2], odd[2];
    for (int j = 0; j < 2; ++j) even[j] = odd[j] = _mm256_set1_epi16(static_cast<short>(n_terms));
    for (std::size_t t = 0; t < n_terms; ++t) {
        const auto* at = reinterpret_cast<const __m256i*>(codes + std::size_t{terms[2 * t]} * 64);
        const __m256i weight = _mm256_set1_epi16(static_cast<short>(terms[2 * t + 1]));
        for (int j = 0; j < 2; ++j) {
            const __m256i both = _mm256_loadu_si256(at + j);
            even[j] = _mm256_add_epi16(even[j], _mm256_mulhi_epu16(_mm256_slli_epi16(both, 8), weight));
            odd[j] = _mm256_add_epi16(odd[j], _mm256_mulhi_epu16(_mm256_and_si256(both, upper), weight));
        }
    }
    __m256i largest = _mm256_setzero_si256();
    for (int j = 0; j < 2; ++j) {
        const __m256i low = _mm256_unpacklo_epi16(even[j], odd[j]), high = _mm256_unpackhi_epi16(even[j], odd[j]);
        const __m256i in_order[2] = {_mm256_permute2x128_si256(low, high, 0x20),
                                     _mm256_permute2x128_si256(low, high, 0x31)};
        for (int i = 0; i < 2; ++i) {
            auto* at = reinterpret_cast<__m256i*>(sums) + 2 * j + i;
            const __m256i sum = _mm256_add_epi16(_mm256_loadu_si256(at), in_order[i]);
            _mm256_storeu_si256(at, sum);
            largest = _mm256_max_epu16(largest, sum);
        }
    }
    return largest_of(largest);
}

}  // namespace xtrellis::neighbors::avx2
#endif
