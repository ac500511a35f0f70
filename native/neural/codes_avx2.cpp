#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "core/csr.hpp"

namespace xtrellis::neural::avx2 {

// As codes_avx512.cpp, half a block at a time.
void sum_codes(const std::uint8_t* blocks, Offset count, Offset bytes, const std::uint8_t* table, std::uint16_t* out) {
    const __m256i low = _mm256_set1_epi8(15), even = _mm256_set1_epi16(255);
    for (Offset part = 0; part < 2 * count; ++part) {
        const Offset block = part / 2, half = part % 2;
        const std::uint8_t* codes = blocks + block * bytes * 64 + half * 32;
        __m256i evens = _mm256_setzero_si256(), odds = evens;
        for (Offset b = 0; b < bytes; b += 2) {
            const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + b * 64));
            const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + b * 64 + 64));
            _mm_prefetch(codes + (bytes + b) * 64, _MM_HINT_T0);
            _mm_prefetch(codes + (bytes + b) * 64 + 64, _MM_HINT_T0);
            const auto look = [&](int which, __m256i at) __attribute__((always_inline)) {
                const auto* row = reinterpret_cast<const __m128i*>(table + b * 32 + which * 16);
                return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(row)), at);
            };
            const __m256i left = _mm256_add_epi8(look(0, _mm256_and_si256(first, low)),
                                                 look(1, _mm256_and_si256(_mm256_srli_epi16(first, 4), low)));
            const __m256i right = _mm256_add_epi8(look(2, _mm256_and_si256(second, low)),
                                                  look(3, _mm256_and_si256(_mm256_srli_epi16(second, 4), low)));
            const __m256i sum = _mm256_add_epi8(left, right);
            evens = _mm256_add_epi16(evens, _mm256_and_si256(sum, even));
            odds = _mm256_add_epi16(odds, _mm256_srli_epi16(sum, 8));
        }
        std::uint16_t* to = out + block * 64 + half * 16;
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), evens);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), odds);
    }
}

}  // namespace xtrellis::neural::avx2
#endif
